
/* What this plugin does otherwise than the plain C expansions above: it wakes no host threads. */
#undef VYRE_CAN_NOTIFY
#define VYRE_CAN_NOTIFY 0
#undef vyre_notify_host
#define vyre_notify_host(c, word) ((void)(c), (void)(word))
