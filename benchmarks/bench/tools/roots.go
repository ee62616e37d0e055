// SPDX-License-Identifier: Apache-2.0

package tools

import "strings"

var roots = []string{
	"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "clone", "__clone", "clone3",
	"__clone3", "start_thread", "runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.clone",
}

// IsRoot reports whether a function is one in which threads begin.
func IsRoot(name string) bool {
	for _, root := range roots {
		if name == root || strings.HasPrefix(name, root+".") || strings.HasPrefix(name, root+"@") {
			return true
		}
	}
	return false
}
