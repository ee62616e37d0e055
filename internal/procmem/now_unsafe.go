// SPDX-License-Identifier: Apache-2.0

package procmem

import _ "unsafe" // for linkname

// nanotime has no safe points. It is kept for linkname (go.dev/issue/67401).
//
//go:linkname nanotime runtime.nanotime
//go:nosplit
func nanotime() int64
