// SPDX-License-Identifier: Apache-2.0

package languages

import "regexp"

var php = Language{
	Runtimes: []string{"PHP"}, Kind: "php",
	Hints: []Hint{{
		Runtime: "PHP", Code: "PHP functions, run by the interpreter",
		Remedy: "start it with php -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=64M " +
			"-d opcache.jit_debug=0x10 (8.0 and later, with OPcache), which names compiled code",
		Files: regexp.MustCompile(`^(php(-fpm|-cgi|dbg)?[\d.]*|libphp[\d.]*\.so)$`),
		Since: [2]int{8, 0}, Version: regexp.MustCompile(`^(?:lib)?php(?:-fpm|-cgi|dbg)?(\d+)\.(\d+)`),
		Eval: []string{"execute_ex", "zend_execute"},
	}},
	// Functions of PHP or of an extension have no file.
	Library: func(_, file string) bool { return file == "" },
	Package: installedIn(regexp.MustCompile(`^.*/vendor/([^/]+/[^/]+)/`)),
	System: System{Files: phpFiles, LibraryFiles: phpFiles,
		Collects: regexp.MustCompile(`^zend_gc_collect_cycles$`),
		// Zend/zend_language_scanner.l, called for each file that OPcache does not keep, and for eval
		Compiles: regexp.MustCompile(`^compile_(file|string)$`)},
}

var phpFiles = regexp.MustCompile(`^(libphp[\d.]*\.so|php(-fpm|-cgi|dbg)?[\d.]*$)`)
