// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// opens are restricted: strangers name files (internal/safeopen opens those), and other users put links where files are
// written (internal/outfile).
var opens = regexp.MustCompile(`^(` +
	`os\.(Open|OpenFile|OpenInRoot|OpenRoot|ReadFile|WriteFile|Create|CreateTemp|Rename|DirFS)|` +
	`unix\.(Open|Openat|Openat2|Creat|Renameat2?|Rename)|syscall\.(Open|Openat)|elf\.Open|ioutil\..*)$`)

// mayOpen are the functions that open files otherwise, with the reason.
var mayOpen = map[string]string{
	"internal/doctor/check.go read":          "the kernel's files below /proc and /sys",
	"internal/container/container.go Labels": "/proc/PID/cgroup",
	"internal/cgroup":                        "the kernel's files below /proc and of control groups",
	"internal/profile/read.go readFile":      "the recording that the user names, for a command of the user's",
	"internal/profile/backup.go": "the recording that the user names and its second name, in one " +
		"directory; no link is followed",
	"internal/console/pipe.go AwaitReader":      "a pipe that the user names is opened, and nothing is written to it",
	"internal/launch/fork.go environment":       "/proc/self/environ",
	"internal/launch/startsignals.go":           "/proc/self/exe",
	"internal/selfruntime/monitor.go":           "prywalk's own entries below /proc",
	"internal/perfevents/reader.go cpuList":     "/sys/devices/system/cpu/online",
	"internal/symbols/kallsyms.go":              "/proc/kallsyms",
	"internal/process/check.go comm":            "/proc/PID/comm",
	"internal/process/process.go LoadedProgram": "/proc/PID/cmdline",
	"internal/process/explain.go":               "/proc/PID/attr/current",
	"internal/process/gates.go":                 "/proc",
	"internal/process/gensyscalls.go":           "a generator of source code",
	"internal/waits/openfiles.go read":          "descriptors below /proc/PID, tables below /proc/PID/net, /proc/locks",
	"internal/process/status.go":                "/proc/PID/status and stat",
	"internal/process/tree.go":                  "/proc/PID/task/TID/children and stat",
	"cmd/prywalk/dumpcore.go openCore":          "the core that the user names",
	"internal/recording/signals.go":             "/dev/tty",
	"internal/selection/finder.go":              "/proc/PID/comm, cmdline and cgroup",
	"internal/agent/client.go":                  "certificates and a token that the user names",
	"internal/agent/resource.go":                "/proc/PID/comm, cgroup and environ",
	"internal/mcpserver/lists.go open":          "a recording below the directory that the user names; no link leads out",
	"internal/safeopen/mounts.go read":          "/proc/PID/mountinfo",
	"internal/dump/changes/file.go Read":        "a dump that the user names",
	"internal/outfile":                          "it is the one way to write",
	"internal/safeopen":                         "it is the one way to open",
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
					t.Errorf("%s: %s calls %s.%s: use internal/safeopen to read and internal/outfile to write", s.path, f.Name.Name,
						x.Name, sel.Sel.Name)
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
