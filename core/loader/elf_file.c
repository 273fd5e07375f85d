/*
 * elf_file.c - reading an ELF file piece by piece.
 *
 * With pread() and not mmap(): a file that is cut while it is looked at gives a short read, not a
 * signal.  What is asked for is always compared with the file's size first.
 */
#include "core/loader/elf_file.h"

#include "core/base/checked.h"
#include "core/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any linker makes; a larger table is damage and not worth its memory. */
#define MAX_TABLE_BYTES (256ull << 20)
#define MAX_SEGMENTS 4096u

static const char rebuild[] = "build or copy the plugin again: the file is damaged";

static vyre_status damaged(vyre_error *err, const char *what)
{
  return VYRE_FAIL(err, VYRE_ERROR_NOT_A_PLUGIN, rebuild, "the ELF file is damaged: %s", what);
}

/* ---- the file ---- */

static vyre_status cannot_open(vyre_error *err, int number)
{
  if (number == ENOENT || number == ENOTDIR)
    return VYRE_FAIL_VENDOR(err, VYRE_ERROR_NOT_FOUND, number, "check the path", "no such file");
  return VYRE_FAIL_VENDOR(err, VYRE_ERROR_IO, number, "check the path and its permissions",
                          "the file cannot be opened: %s", strerror(number));
}

vyre_status vyre__elf_open(vyre__elf_file *file, const char *path, const vyre_allocator *allocator,
                           vyre_error *err)
{
  struct stat info;
  memset(file, 0, sizeof *file);
  file->allocator = *allocator;
  file->fd = -1;
  /* Looked at before it is opened: opening a device or a pipe may have effects. */
  if (stat(path, &info) != 0)
    return cannot_open(err, errno);
  if (!S_ISREG(info.st_mode))
    return VYRE_FAIL(err, VYRE_ERROR_IO, "give the path of a shared object",
                     S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a regular file");
  file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file->fd < 0)
    return cannot_open(err, errno);
  if (fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    vyre__elf_close(file);
    return VYRE_FAIL(err, VYRE_ERROR_IO, NULL, "the file changed while it was opened");
  }
  file->size = (uint64_t)info.st_size;
  return VYRE_OK;
}

void vyre__elf_close(vyre__elf_file *file)
{
  if (file->fd >= 0)
    close(file->fd);
  file->fd = -1;
  vyre__deallocate(&file->allocator, file->segments);
  vyre__deallocate(&file->allocator, file->dynamic);
  vyre__deallocate(&file->allocator, file->strings);
  vyre__deallocate(&file->allocator, file->symbols);
  file->segments = NULL;
  file->dynamic = NULL;
  file->strings = NULL;
  file->symbols = NULL;
}

static bool read_at(const vyre__elf_file *file, uint64_t offset, void *to, uint64_t size)
{
  uint64_t done = 0;
  if (!vyre__range_fits(offset, size, file->size))
    return false;
  while (done < size) {
    ssize_t n = pread(file->fd, (char *)to + done, (size_t)(size - done), (off_t)(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    done += (uint64_t)n;
  }
  return true;
}

/* Reads a table into memory of its own, with `extra` zero bytes behind it. */
static vyre_status read_table(vyre__elf_file *file, uint64_t offset, uint64_t size, uint64_t extra,
                              const char *what, void **out_table, vyre_error *err)
{
  void *table = NULL;
  if (size > MAX_TABLE_BYTES || !vyre__range_fits(offset, size, file->size))
    return damaged(err, what);
  table = vyre__allocate_zeroed(&file->allocator, 1, size + extra);
  if (!table)
    return VYRE_FAIL_MEMORY(err, what);
  if (!read_at(file, offset, table, size)) {
    vyre__deallocate(&file->allocator, table);
    return damaged(err, what);
  }
  *out_table = table;
  return VYRE_OK;
}

/* ---- the header ---- */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#define OWN_MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#define OWN_MACHINE_NAME "AArch64"
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#define OWN_MACHINE_NAME "RISC-V"
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#define OWN_MACHINE_NAME "PowerPC64"
#elif defined(__i386__)
#define OWN_MACHINE EM_386
#define OWN_MACHINE_NAME "i386"
#elif defined(__arm__)
#define OWN_MACHINE EM_ARM
#define OWN_MACHINE_NAME "Arm"
#else
#error "add this machine's ELF number here"
#endif

#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define OWN_DATA (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static const char *machine_name(uint32_t machine)
{
  switch (machine) {
  case EM_X86_64:
    return "x86-64";
  case EM_386:
    return "i386";
  case EM_AARCH64:
    return "AArch64";
  case EM_ARM:
    return "Arm";
  case EM_RISCV:
    return "RISC-V";
  case EM_PPC64:
    return "PowerPC64";
  default:
    return "another machine";
  }
}

static vyre_status check_machine(const vyre__elf_file *file, vyre_error *err)
{
  static const char fix[] = "install the plugin that is built for " OWN_MACHINE_NAME;
  const ElfW(Ehdr) *header = &file->header;
  if (header->e_ident[EI_CLASS] != OWN_CLASS)
    return VYRE_FAIL(err, VYRE_ERROR_NOT_A_PLUGIN, fix, "a %s-bit object, this host is %u-bit",
                     header->e_ident[EI_CLASS] == ELFCLASS32   ? "32"
                     : header->e_ident[EI_CLASS] == ELFCLASS64 ? "64"
                                                               : "?",
                     (unsigned)sizeof(void *) * 8);
  if (header->e_ident[EI_DATA] != OWN_DATA)
    return VYRE_FAIL(err, VYRE_ERROR_NOT_A_PLUGIN, fix, "an object of the other byte order");
  if (header->e_machine != OWN_MACHINE)
    return VYRE_FAIL(err, VYRE_ERROR_NOT_A_PLUGIN, fix,
                     "built for %s (ELF machine %u), this host is " OWN_MACHINE_NAME,
                     machine_name(header->e_machine), (unsigned)header->e_machine);
  return VYRE_OK;
}

vyre_status vyre__elf_read_header(vyre__elf_file *file, vyre_error *err)
{
  static const char fix[] = "give the path of a shared object that was linked with -shared";
  ElfW(Ehdr) *header = &file->header;
  if (!read_at(file, 0, header, EI_NIDENT) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return VYRE_FAIL(err, VYRE_ERROR_NOT_A_PLUGIN, fix, "not an ELF file");
  /* The place of e_machine is the same in both classes, and both headers are larger. */
  if (!read_at(file, 0, header, offsetof(ElfW(Ehdr), e_machine) + sizeof header->e_machine))
    return damaged(err, "its header is cut");
  if (check_machine(file, err))
    return VYRE_ERROR_NOT_A_PLUGIN;
  if (!read_at(file, 0, header, sizeof *header))
    return damaged(err, "its header is cut");
  if (header->e_type != ET_DYN)
    return VYRE_FAIL(err, VYRE_ERROR_NOT_A_PLUGIN, fix, "an ELF %s, not a shared object",
                     header->e_type == ET_REL    ? "object file"
                     : header->e_type == ET_EXEC ? "program"
                     : header->e_type == ET_CORE ? "core dump"
                                                 : "file of another kind");
  if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phnum == 0 ||
      header->e_phnum > MAX_SEGMENTS)
    return damaged(err, "its segment table has an impossible size");
  return VYRE_OK;
}

/* ---- the dynamic section ---- */

/* Where the byte at a virtual address lies in the file, and how many of its segment follow. */
static bool locate(const vyre__elf_file *file, uint64_t address, uint64_t *out_offset,
                   uint64_t *out_room)
{
  uint32_t i;
  for (i = 0; i < file->segment_count; i++) {
    const ElfW(Phdr) *segment = &file->segments[i];
    uint64_t into = address - segment->p_vaddr;
    if (segment->p_type != PT_LOAD || address < segment->p_vaddr || into >= segment->p_filesz)
      continue;
    if (!vyre__checked_add(segment->p_offset, into, out_offset))
      return false;
    *out_room = segment->p_filesz - into;
    return true;
  }
  return false;
}

static vyre_status read_segments(vyre__elf_file *file, vyre_error *err)
{
  void *table = NULL;
  vyre_status status =
      read_table(file, file->header.e_phoff, file->header.e_phnum * sizeof(ElfW(Phdr)), 0,
                 "its segment table lies outside of the file", &table, err);
  if (!table)
    return status;
  file->segments = table;
  file->segment_count = file->header.e_phnum;
  return VYRE_OK;
}

static vyre_status read_dynamic_entries(vyre__elf_file *file, vyre_error *err)
{
  const ElfW(Phdr) *found = NULL;
  void *table = NULL;
  uint64_t count = 0;
  vyre_status status;
  uint32_t i;
  for (i = 0; i < file->segment_count && !found; i++)
    if (file->segments[i].p_type == PT_DYNAMIC)
      found = &file->segments[i];
  if (!found)
    return damaged(err, "it has no dynamic section");
  count = found->p_filesz / sizeof(ElfW(Dyn));
  status = read_table(file, found->p_offset, count * sizeof(ElfW(Dyn)), 0,
                      "its dynamic section lies outside of the file", &table, err);
  if (!table)
    return status;
  file->dynamic = table;
  while (file->dynamic_count < count && file->dynamic[file->dynamic_count].d_tag != DT_NULL)
    file->dynamic_count += 1;
  return VYRE_OK;
}

/* The value of the last entry with a tag, as the dynamic linker takes it. */
static bool dynamic_value(const vyre__elf_file *file, int64_t tag, uint64_t *out_value)
{
  uint64_t i;
  bool found = false;
  for (i = 0; i < file->dynamic_count; i++) {
    if (file->dynamic[i].d_tag == tag) {
      *out_value = file->dynamic[i].d_un.d_val;
      found = true;
    }
  }
  return found;
}

static vyre_status read_strings(vyre__elf_file *file, vyre_error *err)
{
  uint64_t address = 0, offset = 0, room = 0, size = 0;
  void *table = NULL;
  vyre_status status;
  if (!dynamic_value(file, DT_STRTAB, &address) || !dynamic_value(file, DT_STRSZ, &size) ||
      !locate(file, address, &offset, &room) || size > room)
    return damaged(err, "its string table lies outside of its segments");
  status =
      read_table(file, offset, size, 1, "its string table lies outside of the file", &table, err);
  if (!table)
    return status;
  file->strings = table;
  file->string_size = size;
  return VYRE_OK;
}

/* DT_HASH: the second word is the number of symbols. */
static bool count_by_hash(const vyre__elf_file *file, uint64_t address, uint64_t *out_count)
{
  uint64_t offset = 0, room = 0;
  uint32_t words[2];
  if (!locate(file, address, &offset, &room) || room < sizeof words ||
      !read_at(file, offset, words, sizeof words))
    return false;
  *out_count = words[1];
  return true;
}

/* Words of a segment, one after the other, read in pieces. */
typedef struct word_reader {
  const vyre__elf_file *file;
  uint64_t offset; /* of the next piece in the file */
  uint64_t room;   /* bytes that follow in the segment */
  uint32_t words[256];
  uint32_t count, next;
} word_reader;

static bool next_word(word_reader *reader, uint32_t *out_word)
{
  if (reader->next == reader->count) {
    uint64_t left = reader->file->size - reader->offset; /* offset is within the file, see below */
    uint64_t bytes = reader->room < left ? reader->room : left;
    if (bytes > sizeof reader->words)
      bytes = sizeof reader->words;
    bytes -= bytes % 4;
    if (!bytes || !read_at(reader->file, reader->offset, reader->words, bytes))
      return false;
    reader->offset += bytes;
    reader->room -= bytes;
    reader->count = (uint32_t)(bytes / 4);
    reader->next = 0;
  }
  *out_word = reader->words[reader->next++];
  return true;
}

/* Places the reader at a byte of the table that lies at `offset` with `room` bytes. */
static bool seek_word(word_reader *reader, uint64_t offset, uint64_t room, uint64_t skip)
{
  reader->count = reader->next = 0;
  if (skip > room || !vyre__range_fits(offset, skip, reader->file->size))
    return false;
  reader->offset = offset + skip;
  reader->room = room - skip;
  return true;
}

/*
 * DT_GNU_HASH does not say how many symbols there are: the last one ends the chain of the bucket
 * with the largest index, marked by the lowest bit of its hash.
 */
static bool count_by_gnu_hash(const vyre__elf_file *file, uint64_t address, uint64_t *out_count)
{
  struct {
    uint32_t buckets, first_symbol, bloom_words, bloom_shift;
  } head;
  word_reader reader = {.file = file};
  uint64_t offset = 0, room = 0, skip = 0;
  uint32_t word = 0, largest = 0, i;
  if (!locate(file, address, &offset, &room) || room < sizeof head ||
      !read_at(file, offset, &head, sizeof head))
    return false;
  skip = sizeof head + head.bloom_words * (uint64_t)sizeof(ElfW(Addr));
  if (!seek_word(&reader, offset, room, skip))
    return false;
  for (i = 0; i < head.buckets; i++) {
    if (!next_word(&reader, &word))
      return false;
    if (word > largest)
      largest = word;
  }
  *out_count = head.first_symbol;
  if (largest < head.first_symbol)
    return true;
  skip += ((uint64_t)head.buckets + (largest - head.first_symbol)) * 4;
  if (!seek_word(&reader, offset, room, skip))
    return false;
  *out_count = largest;
  do {
    if (!next_word(&reader, &word))
      return false;
    *out_count += 1;
  } while (!(word & 1));
  return true;
}

static vyre_status read_symbols(vyre__elf_file *file, vyre_error *err)
{
  uint64_t address = 0, hash = 0, offset = 0, room = 0, count = 0;
  void *table = NULL;
  vyre_status status;
  bool counted = false;
  if (dynamic_value(file, DT_GNU_HASH, &hash))
    counted = count_by_gnu_hash(file, hash, &count);
  else if (dynamic_value(file, DT_HASH, &hash))
    counted = count_by_hash(file, hash, &count);
  if (!counted)
    return damaged(err, "its symbol hash table cannot be read");
  if (!dynamic_value(file, DT_SYMTAB, &address) || !locate(file, address, &offset, &room) ||
      count > room / sizeof(ElfW(Sym)))
    return damaged(err, "its symbol table lies outside of its segments");
  status = read_table(file, offset, count * sizeof(ElfW(Sym)), 0,
                      "its symbol table lies outside of the file", &table, err);
  if (!table)
    return status;
  file->symbols = table;
  file->symbol_count = count;
  return VYRE_OK;
}

vyre_status vyre__elf_read_dynamic(vyre__elf_file *file, vyre_error *err)
{
  vyre_status status = read_segments(file, err);
  if (!status)
    status = read_dynamic_entries(file, err);
  if (!status)
    status = read_strings(file, err);
  if (!status)
    status = read_symbols(file, err);
  return status;
}

const char *vyre__elf_string(const vyre__elf_file *file, uint64_t offset)
{
  /* The table ends in the NUL that read_strings() put behind it. */
  return offset < file->string_size ? file->strings + offset : "";
}
