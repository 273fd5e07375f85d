/*
 * container.c - making and checking native containers; see container.h.
 */
#include "container.h"

#include "arch.h"
#include "plugins/common/error.h"
#include "sanitizer.h"
#include "vyre_kernel.h"

#include <elf.h>
#include <string.h>

_Static_assert(sizeof(vyre__cpu_container) == 144, "the header has no padding");
_Static_assert(offsetof(vyre__cpu_container, arch) == 24, "the header has no padding");
_Static_assert(offsetof(vyre__cpu_container, hash) == 112, "the header has no padding");

#define REBUILD "build the kernel again with this version of vyre on this kind of machine"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#else
#define OUR_MACHINE EM_NONE /* any: the loader decides */
#endif

static void hash_of(const vyre__cpu_container *container, const void *payload,
                    unsigned char out_digest[VYRE__HASH_SIZE])
{
  vyre__plugin_sha256 hash;
  vyre__cpu_container header = *container;
  memset(header.hash, 0, sizeof(header.hash));
  vyre__plugin_sha256_init(&hash);
  vyre__plugin_sha256_add(&hash, &header, sizeof(header));
  vyre__plugin_sha256_add(&hash, payload, header.payload_size);
  vyre__plugin_sha256_final(&hash, out_digest);
}

void vyre__cpu_container_seal(vyre__cpu_container *container, const char *arch,
                              const unsigned char *key, uint64_t payload_size)
{
  memset(container, 0, sizeof(*container));
  memcpy(container->magic, VYRE__CPU_CONTAINER_MAGIC, sizeof(container->magic));
  container->version = VYRE__CPU_CONTAINER_VERSION;
  container->header_size = sizeof(*container);
  container->native_abi = VYRE_NATIVE_ABI;
  container->sanitizer = VYRE__CPU_SANITIZER;
  strncpy(container->arch, arch, sizeof(container->arch) - 1);
  container->payload_size = payload_size;
  memcpy(container->key, key, sizeof(container->key));
  hash_of(container, container + 1, container->hash);
}

static const char *sanitizer_name(uint32_t kind)
{
  static const char *const names[] = {"no sanitizer", "AddressSanitizer", "ThreadSanitizer",
                                      "MemorySanitizer"};
  return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "an unknown sanitizer";
}

/* Whole and unharmed; says nothing yet about whether it fits. */
static vyre_status check_whole(const vyre__cpu_container *header, const void *data, uint64_t size,
                               const char *name, vyre_error *err)
{
  unsigned char digest[VYRE__HASH_SIZE];
  if (memcmp(header->magic, VYRE__CPU_CONTAINER_MAGIC, sizeof(header->magic)) != 0)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "give a file that `vyre compile` made",
                       "%s: no native kernel container (it does not start with %s)", name,
                       VYRE__CPU_CONTAINER_MAGIC);
  if (header->version != VYRE__CPU_CONTAINER_VERSION || header->header_size != sizeof(*header))
    return PLUGIN_FAIL(
        err, VYRE_ERROR_MODULE_FORMAT, REBUILD,
        "%s: native container of version %u (header of %u bytes), want %u (%u bytes)", name,
        header->version, header->header_size, VYRE__CPU_CONTAINER_VERSION,
        (unsigned)sizeof(*header));
  if (header->payload_size != size - sizeof(*header))
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "get the file again: it was cut or extended",
                       "%s: native container with %llu bytes of code, its header says %llu", name,
                       (unsigned long long)(size - sizeof(*header)),
                       (unsigned long long)header->payload_size);
  hash_of(header, (const char *)data + sizeof(*header), digest);
  if (memcmp(digest, header->hash, sizeof(digest)) != 0)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "get the file again: its bytes have changed",
                       "%s: native container whose checksum does not match", name);
  return VYRE_OK;
}

static vyre_status check_fit(const vyre__cpu_container *header, const char *name, vyre_error *err)
{
  char arch[sizeof(header->arch) + 1] = "";
  memcpy(arch, header->arch, sizeof(header->arch));
  const vyre__cpu_level *level = arch[0] ? vyre__cpu_level_find(arch) : NULL;
  if (header->native_abi != VYRE_NATIVE_ABI)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, REBUILD, "%s: native ABI %u, want %u", name,
                       header->native_abi, VYRE_NATIVE_ABI);
  if (header->sanitizer != VYRE__CPU_SANITIZER)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT,
                       "build the kernel with the plugin of the same kind of build",
                       "%s: code with %s, want %s", name, sanitizer_name(header->sanitizer),
                       sanitizer_name(VYRE__CPU_SANITIZER));
  if (!level || !vyre__cpu_level_runs(level))
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "build the kernel for this processor's level",
                       "%s: code for %s, this processor runs %s", name, arch,
                       vyre__cpu_level_best()->name);
  return VYRE_OK;
}

static vyre_status check_elf(const unsigned char *payload, uint64_t size, const char *name,
                             vyre_error *err)
{
  Elf64_Ehdr header;
  if (size < sizeof(header) || memcmp(payload, ELFMAG, SELFMAG) != 0)
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, REBUILD, "%s: the code is no ELF file", name);
  memcpy(&header, payload, sizeof(header));
  unsigned char elf_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header.e_ident[EI_CLASS] != elf_class || header.e_type != ET_DYN ||
      (OUR_MACHINE != EM_NONE && header.e_machine != OUR_MACHINE))
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, REBUILD,
                       "%s: ELF class %u, type %u, machine %u; want class %u, type %u, machine %u",
                       name, header.e_ident[EI_CLASS], header.e_type, header.e_machine, elf_class,
                       (unsigned)ET_DYN, (unsigned)OUR_MACHINE);
  return VYRE_OK;
}

bool vyre__cpu_container_is_whole(const void *data, uint64_t size, const unsigned char *key)
{
  vyre__cpu_container header;
  if (size < sizeof(header))
    return false;
  memcpy(&header, data, sizeof(header));
  return header.native_abi == VYRE_NATIVE_ABI && memcmp(header.key, key, sizeof(header.key)) == 0 &&
         check_whole(&header, data, size, "", NULL) == VYRE_OK;
}

vyre_status vyre__cpu_container_check(const void *data, uint64_t size, const char *name,
                                      vyre_error *err)
{
  vyre__cpu_container header;
  if (!data || size < sizeof(header))
    return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "give a file that `vyre compile` made",
                       "%s: %llu bytes are too few for a native kernel container", name,
                       (unsigned long long)size);
  memcpy(&header, data, sizeof(header));
  vyre_status status = check_whole(&header, data, size, name, err);
  if (status == VYRE_OK)
    status = check_fit(&header, name, err);
  if (status == VYRE_OK)
    status =
        check_elf((const unsigned char *)data + sizeof(header), header.payload_size, name, err);
  return status;
}
