// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/managed"
)

// # Modules of managed code
//
// The mapping of managed code names the run-time system, which all functions of a program share. What tells them apart
// as files do for native code is the package that a function was installed with, or the program's own source file.

// installed are the folders below which packages are: Python's modules and standard library, Node's modules, Ruby's
// gems, PHP's vendors. The first group is the package, where a part of the path names it.
var installed = []*regexp.Regexp{
	regexp.MustCompile(`^.*/node_modules/((?:@[^/]+/)?[^/]+)/`),
	regexp.MustCompile(`^.*/gems/([^/]+?)(?:-[0-9][^/]*)?/`),
	regexp.MustCompile(`^.*/vendor/([^/]+/[^/]+)/`),
}

// pythonModules are the folders of Python's packages and of its standard library.
var pythonModules = regexp.MustCompile(`^.*/(?:(?:site|dist)-packages|python3\.\d+)/`)

// managedModule is the module of a managed function: its package, else its source file; "" if neither is known.
func managedModule(kind, function, file string) string {
	if kind == "jvm" {
		if p := javaPackage(function); p != "" {
			return p
		}
		return file
	}
	if kind == "cpython" {
		if top := pythonModules.FindString(file); top != "" {
			return pythonPackage(file[len(top):])
		}
	}
	if frozen, ok := strings.CutPrefix(file, "<frozen "); ok {
		return strings.TrimSuffix(frozen, ">")
	}
	for _, re := range installed {
		if m := re.FindStringSubmatch(file); m != nil && kind != "cpython" {
			return m[1]
		}
	}
	if file == "" || strings.HasSuffix(file, "/") || strings.HasPrefix(file, "<") {
		return file
	}
	return path.Base(file)
}

// pythonPackage is the package of an installed file, by its path below the folder of packages: "django.db" of
// "django/db/utils.py", and the module's name of one in no package.
func pythonPackage(file string) string {
	dir := path.Dir(file)
	if dir == "." {
		return strings.TrimSuffix(file, path.Ext(file))
	}
	return strings.ReplaceAll(strings.Trim(dir, "/"), "/", ".")
}

// javaPackage is the package in a method's name, with its class; "" if the class is in none.
func javaPackage(method string) string {
	method, _, _ = strings.Cut(method, "(")
	method = method[strings.LastIndexByte(method, ' ')+1:] // behind the type of the result
	method, _, _ = strings.Cut(method, "/")                // a hidden class has its number behind it
	parts := strings.Split(method, ".")
	class := slices.IndexFunc(parts, func(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' })
	if class < 0 {
		class = max(0, len(parts)-2)
	}
	return strings.Join(parts[:class], ".")
}

// common are names of functions that many files have, and that say nothing without the file.
var common = regexp.MustCompile(`^(?:<[a-z ()]+>|\(anonymous\)|anonymous|\{(?:closure|main)\}|` +
	`_?inner|outer|_?wrapper|_?wrapped|decorator)$`)

// place gives a function of managed code its module, and a common name its file.
func (f *Frame) place(m *profile.Mapping, fn *profile.Function) {
	system, ok := strings.CutPrefix(m.File, "[")
	if !ok || !managed.HasKind(strings.TrimSuffix(system, "]")) || strings.HasPrefix(f.Name, "[") {
		return
	}
	kind := managed.Kind(strings.TrimSuffix(system, "]"))
	if module := managedModule(kind, f.Name, fn.Filename); module != "" {
		f.Module = module
	}
	if common.MatchString(f.Name) {
		f.File = fn.Filename
	}
}
