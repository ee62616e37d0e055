/* The mark of haskell.hs. */
#include "mark.h"

void oracle_mark(void)
{
	MARK("haskell");
}
