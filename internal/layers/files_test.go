// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// opens are restricted: strangers name files (internal/host/safeopen opens those), and other users put links where
// files are written (internal/host/outfile).
var opens = regexp.MustCompile(`^(` +
	`os\.(Open|OpenFile|OpenInRoot|OpenRoot|ReadFile|WriteFile|Create|CreateTemp|Rename|DirFS)|` +
	`unix\.(Open|Openat|Openat2|Creat|Renameat2?|Rename)|syscall\.(Open|Openat)|elf\.Open|ioutil\..*)$`)

// mayOpen are the functions that open files otherwise, with the reason.
var mayOpen = map[string]string{
	"internal/command/doctor/check.go read":       "the kernel's files below /proc and /sys",
	"internal/host/container/container.go Labels": "/proc/PID/cgroup",
	"internal/host/cgroup":                        "the kernel's files below /proc and of control groups",
	"internal/store/profile/read.go readFile":     "the recording that the user names, for a command of the user's",
	"internal/store/profile/backup.go": "the recording that the user names and its second name, in one " +
		"directory; no link is followed",
	"internal/command/console/output.go AwaitReader": "a pipe that the user names is opened, and nothing is written to it",
	"internal/host/launch/fork.go environment":       "/proc/self/environ",
	"internal/host/launch/startsignals.go":           "/proc/self/exe",
	"internal/watch/perfevents/reader.go cpuList":    "/sys/devices/system/cpu/online",
	"internal/code/symbols/kallsyms.go":              "/proc/kallsyms",
	"internal/host/process/check.go comm":            "/proc/PID/comm",
	"internal/host/process/process.go LoadedProgram": "/proc/PID/cmdline",
	"internal/host/process/explain.go":               "/proc/PID/attr/current, /proc/PID/cmdline",
	"internal/host/process/gates.go":                 "/proc",
	"internal/walk/waits/openfiles.go read":          "/proc/PID/fd, tables below /proc/PID/net, /proc/locks",
	"internal/walk/waits/socketdiag.go socketDiag":   "/proc/PID/ns/net",
	"internal/host/process/status.go":                "/proc/PID/status and stat",
	"internal/host/process/tree.go":                  "/proc/PID/task/TID/children and stat",
	"cmd/prywalk/dumpcore.go withCore":               "the core that the user names",
	"internal/command/recording/signals.go":          "/dev/tty",
	"internal/host/selection/finder.go":              "/proc/PID/comm, cmdline and cgroup",
	"internal/command/agent/client.go":               "certificates and a token that the user names",
	"internal/command/agent/resource.go":             "/proc/PID/comm, cgroup and environ",
	"internal/command/mcpserver/answer.go open":      "a recording below the user's directory; no link leads out",
	"internal/host/safeopen/resolve.go read":         "/proc/PID/mountinfo",
	"internal/show/dump/changes/file.go Read":        "a dump that the user names",
	"internal/host/outfile":                          "it is the one way to write",
	"internal/host/safeopen":                         "it is the one way to open",
}

func product(pkg string) bool { return level(pkg) >= 0 }

func TestFilesAreOpenedInOneWay(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		if !product(s.pkg) {
			continue
		}
		path := s.path[len("../../"):]
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			places := []string{path + " " + f.Name.Name, path, s.pkg}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if !ok || !opens.MatchString(x.Name+"."+sel.Sel.Name) {
					return true
				}
				i := slices.IndexFunc(places, func(p string) bool { return mayOpen[p] != "" })
				if i < 0 {
					t.Errorf("%s: %s calls %s.%s: use internal/host/safeopen to read and internal/host/outfile to write",
						s.path, f.Name.Name, x.Name, sel.Sel.Name)
					return true
				}
				used[places[i]] = true
				return true
			})
		}
	}
	for place := range mayOpen {
		if !used[place] {
			t.Errorf("%s opens nothing any more: take it from the list", place)
		}
	}
}
