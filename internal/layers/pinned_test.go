// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// pinnedPackages run, in part, on a pinned goroutine (ptrace.Pin). A system call that the Go scheduler knows of could
// make it lose its processor, and the runtime would abort the program.
var pinnedPackages = []string{"internal/procmem", "ptrace", "internal/observe", "internal/observe/copyplan",
	"internal/observe/copysize", "internal/observe/deepstack", "internal/observe/taskstack"}

// unpinned files and functions never run pinned.
var unpinned = []string{"bpf_unsafe.go", "priority.go", "stopall.go", "watchdog.go", "ptraceMayWait", "vmReadMayWait",
	"vmReadPartsMayWait"}

// tellsScheduler matches calls of which the scheduler may know.
var tellsScheduler = regexp.MustCompile(`^(syscall\.Syscall6?|` +
	`os\.(Open|OpenFile|ReadFile|ReadDir|Readlink|Stat|Lstat|WriteFile)|` +
	`unix\.(Open|Read|Pread|Write|Readlink|ClockNanosleep|Nanosleep|Waitid|Wait4|Poll|Syscall6?|ProcessVMReadv))$`)

func TestPinnedCodeDoesNotTellTheScheduler(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if !slices.Contains(pinnedPackages, s.pkg) {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
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
				if found++; !slices.Contains(unpinned, filepath.Base(s.path)) && !slices.Contains(unpinned, f.Name.Name) {
					t.Errorf("%s: %s calls %s.%s", s.path, f.Name.Name, x.Name, sel.Sel.Name)
				}
				return true
			})
		}
	}
	if found == 0 {
		t.Error("the rule finds nothing, not even what is allowed")
	}
}
