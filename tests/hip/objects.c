/*
 * objects.c BUNDLE ARCH MACHINE ENTRY... - the bundle has one code object, of this architecture: an
 * ELF for AMD's GPUs whose flags name MACHINE (hexadecimal, as EF_AMDGPU_MACH numbers them), with a
 * kernel descriptor for each entry.  Prints what it is.
 */
#include "vyre.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EM_AMDGPU
#define EM_AMDGPU 224
#endif
#define MACHINE_BITS 0xffu
#define OSABI_AMDGPU_HSA 64
#define ABI_VERSION_4 2 /* of code objects; 5 is 3 */
#define ABI_VERSION_5 3

static int fail(const char *path, const char *what)
{
  fprintf(stderr, "FAIL: %s: %s\n", path, what);
  return 1;
}

static void *read_file(const char *path, uint64_t *out_size)
{
  FILE *file = fopen(path, "r");
  long size = 0;
  void *data = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0) {
    rewind(file);
    data = aligned_alloc(64, ((size_t)size + 63) / 64 * 64);
    if (data && fread(data, 1, (size_t)size, file) != (size_t)size) {
      free(data);
      data = NULL;
    }
  }
  if (file)
    fclose(file);
  *out_size = (uint64_t)size;
  return data;
}

/* True if a table of dynamic symbols has the name. */
static int has_symbol(const unsigned char *object, const char *name)
{
  const Elf64_Ehdr *header = (const void *)object;
  const Elf64_Shdr *sections = (const void *)(object + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const Elf64_Sym *symbols = (const void *)(object + sections[i].sh_offset);
    const char *names = NULL;
    if (sections[i].sh_type != SHT_DYNSYM || sections[i].sh_link >= header->e_shnum)
      continue;
    names = (const char *)object + sections[sections[i].sh_link].sh_offset;
    for (uint64_t k = 0; k < sections[i].sh_size / sizeof *symbols; ++k)
      if (symbols[k].st_shndx != SHN_UNDEF && strcmp(names + symbols[k].st_name, name) == 0)
        return 1;
  }
  return 0;
}

static int check(const char *path, const vyre_code *code, const char *machine, char **entries)
{
  const Elf64_Ehdr *header = code->data;
  char name[256];
  int count = 0;
  if (code->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shoff + (uint64_t)header->e_shnum * sizeof(Elf64_Shdr) > code->size)
    return fail(path, "no whole ELF of 64 bits");
  if (header->e_machine != EM_AMDGPU || header->e_ident[EI_OSABI] != OSABI_AMDGPU_HSA)
    return fail(path, "not for AMD's GPUs");
  if (header->e_ident[EI_ABIVERSION] != ABI_VERSION_4 &&
      header->e_ident[EI_ABIVERSION] != ABI_VERSION_5)
    return fail(path, "a code object of a version that ROCm 5 does not take");
  if ((header->e_flags & MACHINE_BITS) != strtoul(machine, NULL, 16))
    return fail(path, "for another machine");
  for (; entries[count]; ++count) {
    snprintf(name, sizeof name, "vyre_entry_%s.kd", entries[count]);
    if (!has_symbol(code->data, name))
      return fail(path, name);
  }
  printf("%s:%s: %llu bytes, flags 0x%x, %d entries\n", code->format, code->arch,
         (unsigned long long)code->size, header->e_flags, count);
  return 0;
}

int main(int argc, char **argv)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_bundle *bundle = NULL;
  const vyre_code *code = NULL;
  uint64_t size = 0;
  uint32_t count = 0;
  void *image = NULL;
  int failed = 0;
  if (argc < 5)
    return fail("objects", "BUNDLE ARCH MACHINE ENTRY... are needed");
  image = read_file(argv[1], &size);
  if (!image)
    return fail(argv[1], "cannot be read");
  if (vyre_bundle_open(image, size, &bundle, &err) != VYRE_OK) {
    free(image);
    return fail(argv[1], err.message);
  }
  code = vyre_bundle_code(bundle, &count);
  if (count != 1 || strcmp(code->format, "hsaco") != 0 || strcmp(code->arch, argv[2]) != 0)
    failed = fail(argv[1], "not one object for that architecture");
  else
    failed = check(argv[1], code, argv[3], argv + 4);
  vyre_bundle_destroy(bundle);
  free(image);
  return failed;
}
