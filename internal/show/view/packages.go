// SPDX-License-Identifier: Apache-2.0

package view

import (
	"regexp"
	"strings"

	"prywalk/internal/base/languages"
)

var commonNames = regexp.MustCompile(`^(?:<[a-z ()]+>|\(anonymous\)|anonymous|\{(?:closure|main)\}|` +
	`_?inner|outer|_?wrapper|_?wrapped|decorator)$`)

// setModule sets a managed function's module to its installed package or source file, and the file of a common name.
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
