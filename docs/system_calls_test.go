// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/process"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

var update = flag.Bool("update", false, "write the made parts of docs/affected-calls.tsv and benchmarks/results")

type listed struct {
	affected bool
	fuse     bool // not in that list, but a FUSE server may give EINTR
	asleep   string
	again    string
}

const (
	affectedAsleep = 1
	affectedAgain  = 3
	affectedCells  = 6
)

// notImplemented is a name in arm64's table that no CPU implements.
const notImplemented = "arch_specific_syscall"

var callName = regexp.MustCompile("`([a-z0-9_]+)`")

// asleepHeading is the first row of the page's table of calls whose sleepers are stopped.
const asleepHeading = "| calls | a sleeping thread is stopped |"

func listedCalls(affected, unaffected string) (calls map[string]listed, twice []string) {
	calls = map[string]listed{}
	add := func(names string, l listed) {
		for name := range strings.FieldsSeq(names) {
			if _, ok := calls[name]; ok {
				twice = append(twice, name)
			}
			calls[name] = l
		}
	}
	for _, cells := range rowsOf(affected, affectedCells) {
		add(cells[0], listed{affected: true, asleep: cells[affectedAsleep], again: cells[affectedAgain]})
	}
	for _, cells := range rowsOf(unaffected, 3) {
		add(cells[1], listed{fuse: strings.Contains(cells[0], "FUSE"), asleep: "never", again: "no"})
	}
	return calls, twice
}

func rowsOf(text string, columns int) (rows [][]string) {
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(cells) == columns {
			rows = append(rows, cells)
		}
	}
	return rows
}

func shownCalls(page, heading string) map[string]string {
	cellOf, inTable := map[string]string{}, false
	for line := range strings.Lines(page) {
		inTable = strings.HasPrefix(line, heading) || inTable && strings.HasPrefix(line, "|")
		if !inTable {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for _, m := range callName.FindAllStringSubmatch(cells[0], -1) {
			cellOf[m[1]] = plain(cells[len(cells)-1])
		}
	}
	return cellOf
}

func plain(cell string) string { return strings.TrimSpace(strings.ReplaceAll(cell, "`", "")) }

// numbers bounds the kernel's system call numbers.
const numbers = 600

func systemCalls(arch frames.Arch) map[string]int64 {
	all := map[string]int64{}
	for nr := range int64(numbers) {
		if name := process.SyscallName(arch, nr); !strings.HasPrefix(name, "syscall_") {
			all[name] = nr
		}
	}
	return all
}

func TestEverySystemCallIsListedOnce(t *testing.T) {
	affected := read(t, "docs/affected-calls.tsv")
	if *update {
		affected = generated(affected)
		if err := os.WriteFile(filepath.Join("..", "docs", "affected-calls.tsv"), []byte(affected), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	calls, twice := listedCalls(affected, read(t, "docs/unaffected-calls.tsv"))
	if len(twice) > 0 {
		t.Errorf("the lists have calls twice: %v", twice)
	}
	x86, arm := systemCalls(frames.X86_64), systemCalls(frames.ARM64)
	count := 0
	asleep := map[string]string{}
	for name, nr := range x86 {
		l, ok := calls[name]
		if !ok {
			t.Errorf("the lists lack %s, number %d", name, nr)
			continue
		}
		checkCall(t, name, nr, l)
		if l.affected {
			count++
		}
		if l.asleep != "never" {
			asleep[name] = l.asleep
		}
	}
	for name := range calls {
		if _, ok := x86[name]; !ok {
			t.Errorf("the lists have %s, which is no system call of x86-64", name)
		}
	}
	for name := range arm {
		if _, ok := x86[name]; !ok && name != notImplemented {
			t.Errorf("the lists lack %s of arm64", name)
		}
	}
	page := read(t, "docs/system-calls.md")
	if shown := shownCalls(page, asleepHeading); !maps.Equal(shown, asleep) {
		t.Errorf("calls of docs/system-calls.md whose sleepers are stopped are %v, want %v", shown, asleep)
	}
	for _, want := range []string{
		fmt.Sprintf("A program can notice a stop in %d of %d system calls", count, len(x86)),
		fmt.Sprintf("Of the %d system calls of x86-64 (arm64: %d),", len(x86), len(arm)),
		fmt.Sprintf("is stopped in %d calls only", len(asleep)),
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
			t.Errorf("docs/system-calls.md lacks: %s", want)
		}
	}
}

func checkCall(t *testing.T, name string, nr int64, l listed) {
	t.Helper()
	if when := asleepCell(name); when != l.asleep {
		t.Errorf("%s: the list's cell asleep is %q, want %q", name, l.asleep, when)
	}
	switch again := restartedCell(nr); {
	case l.fuse && again == "yes":
	case again != l.again:
		t.Errorf("%s: the list's cell restarted is %s, want %s", name, l.again, again)
	}
}

func asleepCell(name string) string {
	if when, _ := observe.InterruptRule(name); when != "" {
		return plain(when)
	}
	return "never"
}

// generated replaces the cells that the code determines, by the first call of each row.
func generated(list string) string {
	x86 := systemCalls(frames.X86_64)
	head, _, _ := strings.Cut(list, "\n")
	lines := []string{head}
	for _, cells := range rowsOf(list, affectedCells) {
		first, _, _ := strings.Cut(cells[0], " ")
		cells[affectedAsleep], cells[affectedAgain] = asleepCell(first), restartedCell(x86[first])
		lines = append(lines, strings.Join(cells, "\t"))
	}
	return strings.Join(lines, "\n") + "\n"
}

func restartedCell(nr int64) string {
	const fastOpen = 0x20000000
	switch name := process.SyscallName(frames.X86_64, nr); {
	case name == "ptrace":
		return "PTRACE_TRACEME only"
	case !ptrace.Restartable(frames.X86_64, nr, 0):
		return resumed(nr)
	case strings.HasPrefix(name, "read") || strings.HasPrefix(name, "write"):
		return "sockets only"
	case !ptrace.Restartable(frames.X86_64, nr, fastOpen):
		return "not MSG_FASTOPEN"
	}
	return "yes"
}

func resumed(nr int64) string {
	const progLoad, kvmRun, punchHole, create = 5, 0xae80, 2, 0o100
	again := func(eagain bool, args [3]uint64) bool {
		again, _ := ptrace.RestartableAborted(frames.X86_64, nr, args, eagain)
		return again
	}
	switch {
	case again(true, [3]uint64{progLoad}):
		return "BPF_PROG_LOAD only"
	case again(false, [3]uint64{0, kvmRun}) && !again(false, [3]uint64{}):
		return "KVM_RUN only"
	case !again(false, [3]uint64{}):
		return "no"
	case !again(false, [3]uint64{0, punchHole}):
		return "FALLOC_FL_KEEP_SIZE or no mode only"
	case !again(false, [3]uint64{0, create}) || !again(false, [3]uint64{0, 0, create}):
		return "not O_CREAT"
	}
	return "yes"
}

func TestArm64RestartsTheSameCallsExceptTwo(t *testing.T) {
	x86, arm := systemCalls(frames.X86_64), systemCalls(frames.ARM64)
	for name, nr := range arm {
		const fastOpen = 0x20000000
		for _, flags := range []uint64{0, fastOpen} {
			there := ptrace.Restartable(frames.ARM64, nr, flags)
			here := x86[name] != 0 && ptrace.Restartable(frames.X86_64, x86[name], flags) || name == "read"
			if name == "ppoll" || name == "pselect6" {
				here = false
			}
			if there != here {
				t.Errorf("%s, flags %#x: restarted on arm64: %v, want %v, as on x86-64", name, flags, there, here)
			}
		}
	}
}

func TestTablesOfSystemCallsAreParsed(t *testing.T) {
	calls, twice := listedCalls("calls\tasleep\trunning\tagain\twritten\tsource\na b\talways\tx\tno\t\ts\n",
		"kind\tcalls\tsource\nk\tb c\ts\n")
	if len(calls) != 3 || len(twice) != 1 || calls["a"] != (listed{true, false, "always", "no"}) || calls["c"].affected {
		t.Errorf("calls are %v, listed twice %v", calls, twice)
	}
	shown := shownCalls("| calls | a sleeping thread is stopped |\n| --- | --- |\n| `a`, `b` | only `C` |\n\n| `d` |\n",
		asleepHeading)
	if want := map[string]string{"a": "only C", "b": "only C"}; !maps.Equal(shown, want) {
		t.Errorf("the table has %v, want %v", shown, want)
	}
}
