// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// texts write for users. Parts of the target go through prywalk/internal/base/printable, never straight through fmt.
var texts = []string{"cmd/prywalk", "report", "internal/show/dump", "internal/command/doctor",
	"internal/account/runstats", "internal/command/commandline", "internal/command/console", "internal/command/recording",
	"internal/show/view", "internal/show/export"}

// own are exempt files, with the reason.
var own = map[string]string{
	"cmd/prywalk/version.go": "what the binary was built from",
}

func TestTextsForPeopleArePrintable(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range sources(t) {
		file := s.pkg + "/" + filepath.Base(s.path)
		if !under(s.pkg, texts) && !slices.Contains(texts, file) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && printsRaw(call) {
				if needed[file] = true; own[file] != "" {
					return true
				}
				t.Errorf("%s: fmt prints strings of the target as they are: use printable.Fprintf or say", file)
			}
			return true
		})
	}
	used(t, slices.Collect(maps.Keys(own)), needed, "own")
}

// printsRaw ignores fmt.Sprint, whose text is printed elsewhere.
func printsRaw(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	if !ok || pkg.Name != "fmt" {
		return false
	}
	if strings.HasPrefix(f.Sel.Name, "Fprint") {
		to, builder := call.Args[0].(*ast.UnaryExpr)
		return !builder || to.Op != token.AND
	}
	return strings.HasPrefix(f.Sel.Name, "Print")
}
