// SPDX-License-Identifier: Apache-2.0

package procmem

import _ "unsafe" // for the name below

// nanotime is the runtime's clock, CLOCK_MONOTONIC on Linux. The runtime keeps the
// name for others (go.dev/issue/67401). Unlike [time.Since] it may be called where
// the goroutine must not be pre-empted.
//
//go:linkname nanotime runtime.nanotime
//go:nosplit
func nanotime() int64
