// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pinnedPackages run, in part, on a pinned goroutine (ptrace.Pin). A system call that the Go scheduler knows of could
// make it lose its processor, and the runtime would abort the program, unless its function releases the pins.
var pinnedPackages = []string{"internal/host/procmem", "ptrace", "internal/watch/observe"}

// unpinned files and functions never run pinned.
var unpinned = []string{"watchdog.go", "vmReadPartsMayWait", "prioritize", "setNormalPolicy"}

// tellsScheduler matches calls of which the scheduler may know.
var tellsScheduler = regexp.MustCompile(`^(syscall\.Syscall6?|` +
	`os\.(Open|OpenFile|ReadFile|ReadDir|Readlink|Stat|Lstat|WriteFile)|` +
	`unix\.(Open|Read|Pread|Write|Readlink|ClockNanosleep|Nanosleep|Waitid|Wait4|Poll|Syscall6?|ProcessVMReadv|` +
	`Sched[GS]etAttr))$`)

func TestPinnedCodeDoesNotTellTheScheduler(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range sources(t) {
		if !slices.Contains(pinnedPackages, s.pkg) {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if releasesPins(f) {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if !ok || !tellsScheduler.MatchString(x.Name+"."+sel.Sel.Name) {
					return true
				}
				needed[filepath.Base(s.path)], needed[f.Name.Name] = true, true
				if !slices.Contains(unpinned, filepath.Base(s.path)) && !slices.Contains(unpinned, f.Name.Name) {
					t.Errorf("%s: %s calls %s.%s", s.path, f.Name.Name, x.Name, sel.Sel.Name)
				}
				return true
			})
		}
	}
	used(t, unpinned, needed, "unpinned")
}

// releasesPins reports whether f releases the pins and restores them, each once, around one system call.
func releasesPins(f *ast.FuncDecl) bool {
	var order []string
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := strings.TrimPrefix(types.ExprString(call.Fun), "procmem.")
		switch {
		case name == "ReleasePins" || name == "RestorePins":
			order = append(order, name)
		case tellsScheduler.MatchString(name):
			order = append(order, "call")
		}
		return true
	})
	return slices.Equal(order, []string{"ReleasePins", "call", "RestorePins"})
}
