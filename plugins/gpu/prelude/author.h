/*
 * author.h - the end of the prelude.  The author's text is C: it may call a function `min` or
 * `clock` and know nothing of the compiler's own.  In a namespace it hides them.  Whoever compiles
 * the text closes it with VYRE__GPU_TEXT_END (launch_layout.h).
 */
namespace vyre__author
{
