// SPDX-License-Identifier: Apache-2.0

package ptrace

import "prywalk/internal/procmem"

// Pin prevents pre-emption of the calling goroutine until [Unpin]; pairs nest. Meanwhile ordinary system calls abort
// the runtime, and garbage collections wait. They do not during the waits of a [Controller], which hand back the P.
func Pin() { procmem.Pin() }

// Unpin ends [Pin].
func Unpin() { procmem.Unpin() }
