/* gone.c - a library that a plugin is linked to and that is not there when it is opened. */
int vyre_gone(void);

int vyre_gone(void)
{
  return 0;
}
