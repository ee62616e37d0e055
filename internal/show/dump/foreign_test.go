// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/walk/waits"
)

// locksAnywhere are the rows of basic.c; HEIR took the lock of an ended thread.
const locksAnywhere = `
	recursive = mutex: mutex mu_recursive (recursive)HELD
	errorcheck = mutex: mutex mu_errorcheck (error-checking)HELD
	robust = mutex: mutex mu_robust (normal robust)HELD
	timed = mutex: mutex mu_recursive (recursive)HELD, with a time-out
	sem = semaphore: semaphore sem (stores no owner)
	join = join: the end of thread OWNER
	dead = mutex: mutex mu_dead (normal robust), held by thread HEIR heir
`

func TestLocksOfOtherCLibraries(t *testing.T) {
	const muslRows = locksAnywhere + `
	normal = mutex: mutex mu_normal (normal; musl stores no owner of a normal mutex)
	rdlock = rwlock: rwlock rw_written (read; musl stores no owner of it)
	wrlock = rwlock: rwlock rw_written (write; musl stores no owner of it)
`
	const glibcRows = locksAnywhere + `
	normal = mutex: mutex mu_normal (normal)HELD
	rdlock = rwlock: rwlock rw_written (read)HELD
	wrlock = rwlock: rwlock rw_written (write)HELD
	cond = condition: condition cond (a condition variable has no owner)
`
	for _, c := range []struct {
		name string
		args []string
		rows string
	}{
		{"glibc", []string{"cc"}, glibcRows}, {"musl", []string{"musl-gcc"}, muslRows},
		{"musl, static", []string{"musl-gcc", "-static"}, muslRows},
	} {
		t.Run(c.name, func(t *testing.T) {
			exe := build(t, slices.Concat(c.args, []string{"-g", "-O1", "-pthread", "-o", "OUT", "testdata/basic.c"})...)
			p := startProgram(t, exe, nil)
			allSleep(t, p.pid)
			rows := rowsOf(p.numbers[0], strings.ReplaceAll(c.rows, "HEIR", strconv.Itoa(p.numbers[1])))
			check(t, p.pid, rows)
			if c.name == "glibc" {
				return
			}
			for _, th := range stillSample(t, p.pid).Threads {
				if w := th.WaitsFor; th.Name == "cond" && (w == nil || w.Kind != waits.Condition || w.Owner != 0) {
					t.Errorf("condition: %v", w)
				}
			}
		})
	}
}

func build(t *testing.T, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "prog")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "OUT", out)
	}
	if text, err := bounded.AllOutput(exec.Command(testtargets.NeedProgram(t, args[0]), args[1:]...)); err != nil {
		t.Fatalf("%v: %v: %s", args, err, text)
	}
	return out
}

type wait struct {
	kind waits.Kind
	why  string
	many int
}

func checkForeign(t *testing.T, pid int, want map[string]wait) {
	t.Helper()
	if wrong := foreign(stillSample(t, pid), want); len(wrong) > 0 {
		t.Fatal(strings.Join(wrong, "\n"))
	}
}

func foreign(p *stacks.Process, want map[string]wait) (wrong []string) {
	at := map[string]map[schema.Hex]bool{}
	for i := range p.Threads {
		th := &p.Threads[i]
		c, ok := want[th.Name]
		if !ok {
			continue
		}
		w := th.WaitsFor
		if w == nil || w.Kind != c.kind || w.Why != c.why || w.Owner != 0 || w.OwnerGone != 0 || w.Idle != "" {
			text := "nothing"
			if w != nil {
				text = string(w.Kind) + ": " + w.String()
			}
			wrong = append(wrong, th.Name+": "+text)
			continue
		}
		if at[th.Name] == nil {
			at[th.Name] = map[schema.Hex]bool{}
		}
		at[th.Name][w.Address] = true
	}
	for name, c := range want {
		if len(at[name]) != c.many {
			wrong = append(wrong, name+": at "+strconv.Itoa(len(at[name]))+" addresses")
		}
	}
	return wrong
}

func TestLocksOfRust(t *testing.T) {
	p := startProgram(t, build(t, "rustc", "--edition", "2021", "-O", "-g", "-o", "OUT", "testdata/locks.rs"), nil)
	allSleep(t, p.pid)
	const why = "Rust stores no owner of it"
	checkForeign(t, p.pid, map[string]wait{
		"mutex": {waits.Mutex, why, 1}, "read": {waits.RWLock, why, 1}, "write": {waits.RWLock, why, 1},
		"cond": {waits.Condition, "a condition variable has no owner", 1}, "park": {waits.Park, "Rust stores no owner", 2},
	})
	l := locksOf(t, p.pid)
	two := 0
	for i := range l.Locks {
		if len(l.Locks[i].Waiters) == 2 && l.Locks[i].Owner == 0 && l.Locks[i].Symbol != "" {
			two++
		}
	}
	if two != 4 || len(l.Deadlocks) > 0 {
		t.Errorf("%d locks with two waiters each, want 4; deadlocks %v", two, l.Deadlocks)
	}
}

const apart = ", and each waiter sleeps at a word of its own"

func TestLocksOfParkingLot(t *testing.T) {
	testtargets.OnlyInAll(t, "seven crates are compiled")
	const why = "parking_lot stores no owner of it" + apart
	p := startProgram(t, parkingLot(t), nil)
	checkForeign(t, p.pid, map[string]wait{
		"mutex": {waits.Mutex, why, 1}, "read": {waits.RWLock, why, 1}, "write": {waits.RWLock, why, 1},
		"cond": {waits.Condition, "a condition variable has no owner" + apart, 1},
	})
}

func parkingLot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, crate := range []string{"cfg_if", "scopeguard", "smallvec", "libc", "lock_api", "parking_lot_core",
		"parking_lot"} {
		var found []string
		for _, name := range []string{crate, strings.ReplaceAll(crate, "_", "-")} {
			more, _ := filepath.Glob("/usr/share/cargo/registry/" + name + "-[0-9]*/src/lib.rs")
			found = append(found, more...)
		}
		if len(found) == 0 {
			testtargets.Need(t, false, "the source of "+crate, testtargets.SetUp)
		}
		args := []string{"--edition", "2018", "-O", "--cap-lints", "allow", "--crate-type", "rlib", "--crate-name", crate,
			"-L", dir, "--out-dir", dir}
		switch crate {
		case "libc":
			args = append(args, "--cfg", `feature="std"`)
			for _, has := range []string{"align", "core_cvoid", "packedN", "priv_mod_use", "union", "const_size_of", "int128",
				"cfg_target_vendor",
				"non_exhaustive", "ptr_addr_of", "underscore_const_names", "const_extern_fn"} {
				args = append(args, "--cfg", "libc_"+has)
			}
			args[1] = "2015"
		case "lock_api":
			args = append(args, "--cfg", "has_const_fn_trait_bound")
		}
		for _, lib := range []string{"cfg_if", "scopeguard", "smallvec", "libc", "lock_api", "parking_lot_core"} {
			file := filepath.Join(dir, "lib"+lib+".rlib")
			if _, err := os.Stat(file); err == nil {
				args = append(args, "--extern", lib+"="+file)
			}
		}
		build(t, append(append([]string{"rustc"}, args...), found[len(found)-1])...)
	}
	return build(t, "rustc", "--edition", "2021", "-O", "-g", "-L", dir, "--extern", "parking_lot="+
		filepath.Join(dir, "libparking_lot.rlib"),
		"-o", "OUT", "testdata/parkinglot.rs")
}

// Abseil's condition variables are known as a wait only.
func TestLocksOfAbseil(t *testing.T) {
	_, err := os.Stat("/usr/include/absl/synchronization/mutex.h")
	testtargets.Need(t, err == nil, "the headers of Abseil", testtargets.SetUp)
	p := startProgram(t, build(t, "c++", "-std=c++17", "-g", "-O1", "-pthread", "-o", "OUT", "testdata/absl.cc",
		"-labsl_synchronization"), nil)
	const why = "abseil stores no owner of it" + apart
	checkForeign(t, p.pid, map[string]wait{
		"mutex": {waits.Mutex, why, 1}, "read": {waits.Mutex, why, 1}, "cond": {waits.Park, "abseil stores no owner" + apart,
			1},
	})
}

func TestLocksOfGo(t *testing.T) {
	p := startProgram(t, build(t, "go", "build", "-o", "OUT", "../../testtargets/src/golocks"), nil)
	parked := 0
	for _, th := range stillSample(t, p.pid).Threads {
		w := th.WaitsFor
		locked := func(f stacks.Frame) bool { return f.Function == "runtime.stoplockedm" }
		if w == nil || !slices.ContainsFunc(th.Frames, locked) {
			continue
		}
		if w.Kind == waits.Park && w.Owner == 0 && w.Idle == waits.IdlePool &&
			w.Why == "Go's run-time system stores no owner" {
			parked++
		}
	}
	if parked != 3 {
		t.Errorf("%d goroutines wait with a thread of their own, want 3", parked)
	}
}
