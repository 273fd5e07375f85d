/* stub.c - a library with OpenCL's name and one of its calls: what some vendors install to link
 * against. */
__attribute__((visibility("default"))) int clGetPlatformIDs(unsigned room, void *out,
                                                            unsigned *out_count);

int clGetPlatformIDs(unsigned room, void *out, unsigned *out_count)
{
  (void)room;
  (void)out;
  if (out_count)
    *out_count = 0;
  return 0;
}
