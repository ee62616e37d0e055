// SPDX-License-Identifier: Apache-2.0

package languages

import "regexp"

// golang is Go. What its goroutines wait for is in package waits (idlegoroutines.go).
var golang = Language{
	Systems: []string{"Go"}, Kind: "go", Native: true,
	System: System{
		LibraryFunctions: regexp.MustCompile(`^(runtime[./]|sync[./]|internal/|syscall\.|time\.|os[./]|io[./]|net[./]|` +
			`context\.|bufio\.|reflect\.|database/|crypto/|encoding/|poll\.)`),
		NativeForwards: regexp.MustCompile(`^_*(s|S)yscall6?$|` +
			`^runtime\.(futex\w*|notes?leep\w*|notet?sleep\w*|mPark|lock2?|semasleep)$|^internal/runtime/syscall`),
		NativeStarts: regexp.MustCompile(`^runtime\.(mstart\w*|mcall|schedule|park_m|goexit\w*)$`),
		NativeOwn:    func(_, function string) bool { return function == "runtime.sysmon" },
	},
}
