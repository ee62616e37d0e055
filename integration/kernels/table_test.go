// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prywalk/integration/machine"
)

// update writes the rows of the tested kernels into the table.
const update = "KERNELS_UPDATE"

var page = filepath.Join(root, "docs/limits.md")

// Columns of the table by the names of facts.
var columns = []string{"PROCMAP_QUERY", "/proc/PID/sched", "perf_event_paranoid", "ptrace_scope", "engine of root",
	"engine of a user at 3", "cgroup v1", "cgroup v2"}

var (
	factLine   = regexp.MustCompile(`^@fact (.*) = (.*)$`)
	majorMinor = regexp.MustCompile(`^\d+\.\d+`)
	anyDebRow  = regexp.MustCompile(`(?m)^\| \d+\.\d+[^|]*\(Debian[^\n]*\n`)
	newestRow  = regexp.MustCompile(`(?m)^\| \d+\.\d+ \(Debian, newest\)[^\n]*\n`)
	debianOf   = map[string]string{"5.10": "11", "6.1": "12", "6.1-rt": "12, PREEMPT_RT", "6.12": "13",
		"newest": ", newest"}
	differsNote = "docs/limits.md has another row: KERNELS_UPDATE=1 make test-kernels writes it"
)

func checkRow(t *testing.T, release string, r *machine.Result) {
	t.Helper()
	facts := map[string]string{}
	for _, line := range r.Output {
		if m := factLine.FindStringSubmatch(line); m != nil {
			facts[m[1]] = m[2]
		}
	}
	cells := []string{majorMinor.FindString(facts["release"]) + " (Debian " + debianOf[release] + ")"}
	cells[0] = strings.Replace(cells[0], "Debian ,", "Debian,", 1)
	for _, name := range columns {
		if facts[name] == "" {
			t.Fatalf("no fact %q in the output", name)
		}
		cells = append(cells, facts[name])
	}
	row := "| " + strings.Join(cells, " | ") + " |\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), row) {
		return
	}
	old := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta("| "+cells[0]+" |") + `[^\n]*\n`)
	if release == "newest" {
		old = newestRow
		if found := old.FindString(string(text)); afterFirst(found) == afterFirst(row) {
			return // a newer one, on which nothing differs
		}
	}
	if os.Getenv(update) == "" {
		t.Fatalf("%s:\n%s", differsNote, row)
	}
	if !old.Match(text) {
		last := anyDebRow.FindAllIndex(text, -1)
		at := last[len(last)-1][1]
		text = slices.Insert(text, at, []byte(row)...)
	} else {
		text = old.ReplaceAll(text, []byte(row))
	}
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func afterFirst(row string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
	return rest
}
