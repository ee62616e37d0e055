// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prywalk/integration/machine"
)

// update makes the table: a kernel's row is removed when its tests begin, and written when all of them have passed.
const update = "KERNELS_UPDATE"

var page = filepath.Join(root, "docs/limits.md")

// facts of the table's columns.
var facts = []string{"PROCMAP_QUERY", "/proc/PID/sched", "perf_event_paranoid", "ptrace_scope", "engine of root",
	"engine of a user at 3", "cgroup v1", "cgroup v2"}

var (
	factLine   = regexp.MustCompile(`^@fact (.*) = (.*)$`)
	majorMinor = regexp.MustCompile(`^\d+\.\d+`)
	tableRow   = regexp.MustCompile(`(?m)^\| (\d+\.\d+) \((Debian[^)]*)\) \|.*\n`)
	tableHead  = regexp.MustCompile(`(?m)^\| kernel \|.*\n\| --- .*\n`)
)

// debian is the order of the rows.
var debian = []struct{ release, name string }{
	{"5.10", "Debian 11"}, {"6.1", "Debian 12"}, {"6.1-rt", "Debian 12, PREEMPT_RT"}, {"6.12", "Debian 13"},
	{"newest", "Debian, newest"},
}

func indexOf(name string) int {
	return slices.IndexFunc(debian, func(d struct{ release, name string }) bool {
		return d.release == name || d.name == name
	})
}

// checkRow compares the kernel's row with what it has shown, or writes it.
func checkRow(t *testing.T, release string, r *machine.Result) {
	t.Helper()
	values := map[string]string{}
	for _, line := range r.Output {
		if m := factLine.FindStringSubmatch(line); m != nil {
			values[m[1]] = m[2]
		}
	}
	name := debian[indexOf(release)].name
	var cells strings.Builder
	for _, fact := range facts {
		if values[fact] == "" {
			t.Fatalf("no fact %q in the output", fact)
		}
		cells.WriteString(" " + values[fact] + " |")
	}
	row := fmt.Sprintf("| %s (%s) |%s\n", majorMinor.FindString(values["release"]), name, cells.String())
	if os.Getenv(update) != "" {
		rewriteRow(t, name, row)
		return
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range tableRow.FindAllStringSubmatch(string(text), -1) {
		// The newest may have become a newer one, on which nothing differs.
		if m[2] == name && (m[0] == row || release == "newest" && strings.HasSuffix(m[0], "|"+cells.String()+"\n")) {
			return
		}
	}
	t.Errorf("%s does not have this row (KERNELS_UPDATE=1 make test-kernels writes it):\n%s", page, row)
}

// rewriteRow replaces the row of that name; "" removes it.
func rewriteRow(t *testing.T, name, row string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{}
	for _, m := range tableRow.FindAllStringSubmatch(string(text), -1) {
		if m[2] != name {
			rows = append(rows, m[0])
		}
	}
	if row != "" {
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b string) int {
		return cmp.Compare(indexOf(tableRow.FindStringSubmatch(a)[2]), indexOf(tableRow.FindStringSubmatch(b)[2]))
	})
	text = tableRow.ReplaceAll(text, nil)
	head := tableHead.FindIndex(text)
	if head == nil {
		t.Fatalf("%s has no table of kernels", page)
	}
	text = slices.Insert(text, head[1], []byte(strings.Join(rows, ""))...)
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
