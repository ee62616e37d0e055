// SPDX-License-Identifier: Apache-2.0

package view

import (
	"regexp"
	"strings"

	"prywalk/internal/languages"
)

// commonNames matches names that many files have: shown with their file.
var commonNames = regexp.MustCompile(`^(?:<[a-z ()]+>|\(anonymous\)|anonymous|\{(?:closure|main)\}|` +
	`_?inner|outer|_?wrapper|_?wrapped|decorator)$`)

// setModule sets a managed function's module to the package that it was installed with or to the program's source file,
// since the mapping is named for the runtime. It sets the file of a common name.
func (f *Frame) setModule(file, source string) {
	l := languages.OfMapping(file)
	if l == nil || l.Package == nil || strings.HasPrefix(f.Name, "[") {
		return
	}
	if module := l.Package(f.Name, source); module != "" {
		f.Module = module
	}
	if commonNames.MatchString(f.Name) {
		f.File = source
	}
}
