// SPDX-License-Identifier: Apache-2.0

package view

import (
	"regexp"
	"strings"

	"prywalk/internal/languages"
)

// # Modules of managed code
//
// The mapping of managed code is named for its run-time system. Functions are distinguished by the package that they
// were installed with, or by the program's source file.

// common are names that many files have: shown with their file.
var common = regexp.MustCompile(`^(?:<[a-z ()]+>|\(anonymous\)|anonymous|\{(?:closure|main)\}|` +
	`_?inner|outer|_?wrapper|_?wrapped|decorator)$`)

// place sets the module of a managed function, and the file of a common name.
func (f *Frame) place(file, source string) {
	l := languages.OfMapping(file)
	if l == nil || l.Package == nil || strings.HasPrefix(f.Name, "[") {
		return
	}
	if module := l.Package(f.Name, source); module != "" {
		f.Module = module
	}
	if common.MatchString(f.Name) {
		f.File = source
	}
}
