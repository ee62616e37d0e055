// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"path"
	"regexp"
	"strings"
)

var (
	pythonModules = regexp.MustCompile(`^.*/(?:(?:site|dist)-packages|python3\.\d+t?)/`)
	rubyLibraries = regexp.MustCompile(`^.*/(?:gems/[^/]+/lib|(?:vendor|site)_ruby(?:/\d[^/]*)?|lib/ruby/\d[^/]*)/`)
)

var installed = regexp.MustCompile(`(?:-packages|/node_modules|/gems|/vendor|/(?:vendor|site)_ruby|/pkg/mod|` +
	`/\.cargo/registry)/|@v\d`)

// IsInstalled reports a function of an installed package of Python, Node, Ruby, PHP, Go or Rust, by its source file, or
// of a well-known library of Java, by its name.
func IsInstalled(function, mapping, file string) bool {
	l := OfMapping(mapping)
	return installed.MatchString(file) || l != nil && l.Installed != nil && l.Installed(function)
}

const nodeModules = "/node_modules/"

// SourceFile shortens a path to the file's name; of installed modules of Python, Node and Ruby with the package; of
// __init__.py and the like with the folder. Node's own modules are no paths: node:internal/fs/utils.
func SourceFile(file string) string {
	if strings.HasPrefix(file, "node:") {
		return file
	}
	if i := strings.LastIndex(file, nodeModules); i >= 0 && !strings.HasSuffix(file, "/") {
		return file[i+len(nodeModules):]
	}
	base := path.Base(file)
	switch path.Ext(base) {
	case ".rb":
		if where := rubyLibraries.FindString(file); where != "" {
			return file[len(where):]
		}
		return base
	case ".py":
	default:
		return base
	}
	if where := pythonModules.FindString(file); where != "" {
		return file[len(where):]
	}
	if dir := path.Base(path.Dir(file)); strings.HasPrefix(base, "__") && dir != "." && dir != "/" {
		return dir + "/" + base
	}
	return base
}
