/* identifier.c - which names may stand in a kernel's source. */
#include "core/program/program.h"

/* Kernels compile as C and as C++: the keywords of both. */
static const char *const keywords[] = {
    "alignas",       "alignof",     "and",       "and_eq",   "asm",        "auto",
    "bitand",        "bitor",       "bool",      "break",    "case",       "catch",
    "char",          "class",       "compl",     "const",    "const_cast", "constexpr",
    "continue",      "decltype",    "default",   "delete",   "do",         "double",
    "dynamic_cast",  "else",        "enum",      "explicit", "export",     "extern",
    "false",         "float",       "for",       "friend",   "goto",       "if",
    "inline",        "int",         "long",      "mutable",  "namespace",  "new",
    "noexcept",      "not",         "not_eq",    "nullptr",  "operator",   "or",
    "or_eq",         "private",     "protected", "public",   "register",   "reinterpret_cast",
    "restrict",      "return",      "short",     "signed",   "sizeof",     "static",
    "static_assert", "static_cast", "struct",    "switch",   "template",   "this",
    "thread_local",  "throw",       "true",      "try",      "typedef",    "typeid",
    "typename",      "union",       "unsigned",  "using",    "virtual",    "void",
    "volatile",      "wchar_t",     "while",     "xor",      "xor_eq",
};

/* Not isalpha(): a locale must not widen the language. */
static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool vyre__is_identifier(const char *name)
{
  if (!name || !is_letter(name[0]))
    return false;
  for (const char *c = name; *c; ++c)
    if (!is_letter(*c) && (*c < '0' || *c > '9'))
      return false;
  if (!strncmp(name, "vyre_", 5) || !strncmp(name, "VYRE_", 5) || !strncmp(name, "__", 2))
    return false;
  if (strlen(name) > 127) /* what C promises to tell apart, with a prefix in front */
    return false;
  for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; ++i)
    if (!strcmp(name, keywords[i]))
      return false;
  return true;
}
