/* The mark of pypy.py. */
#include "mark.h"

void oracle_mark(void)
{
	MARK("pypy");
}
