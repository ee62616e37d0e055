// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"debug/elf"
	enc "encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func damages() int {
	if testtargets.All() {
		return 3
	}
	return 1
}

// Random words of a stopped program's writable memory get random values.
func TestDamagedMemoryOfRealProgramsBreaksNothing(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	for _, name := range []string{"java", "python", "node", "go"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := testtargets.Run(t, name, testtargets.Options{})
			checkDamagedMemory(t, target.PID, len(name))
		})
	}
}

// Threads, fibers, generators and tasks of other languages: their lists are in the memory that is overwritten.
func TestDamagedMemoryOfInterpretersBreaksNothing(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	for i, run := range [][]string{
		{"ruby", "testdata/fibers.rb"}, {"php", "testdata/fibers.php"}, {"python3", "testdata/tasks.py"},
	} {
		t.Run(run[0], func(t *testing.T) {
			t.Parallel()
			c := exec.Command(testtargets.NeedProgram(t, run[0]), run[1:]...)
			testtargets.Ready(t, c)
			checkDamagedMemory(t, c.Process.Pid, i)
		})
	}
}

func checkDamagedMemory(t *testing.T, pid, seed int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "every thread is stopped", func() bool { return allStopped(t, pid) })
	random := rand.New(rand.NewPCG(uint64(seed), 29))
	for range damages() {
		n := damageMemory(t, pid, random)
		t.Logf("%d words overwritten", n)
		checkCommandsEnd(t, strconv.Itoa(pid))
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func allStopped(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil || stateOf(tid) != "T" {
			return false
		}
	}
	return true
}

func checkCommandsEnd(t *testing.T, pid string) {
	t.Helper()
	out := filepath.Join(scratch(t, nil), "rec.pb.gz")
	for _, args := range [][]string{
		{"dump", "-p", pid}, {"dump", "-p", pid, "--json"}, {"doctor", "-p", pid},
		{"record", "-p", pid, "-d", "0.3", "-o", out}, {"report", out}, {"report", "--json", out},
	} {
		r, _ := runMeasured(t, args...)
		if r.must(t, 0); strings.Contains(r.stderr, "goroutine ") && strings.Contains(r.stderr, ".go:") {
			t.Errorf("prywalk %v: a stack trace on standard error:\n%s", args, clip(r.stderr))
		}
	}
}

func damageMemory(t *testing.T, pid int, random *rand.Rand) (words int) {
	t.Helper()
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	pages := presentPages(t, pid)
	oneIn := []int{20, 100, 500, 2000}[random.IntN(4)]
	page := make([]byte, os.Getpagesize())
	for range min(len(pages), 4000) {
		at := int64(pages[random.IntN(len(pages))])
		if _, err := mem.ReadAt(page, at); err != nil {
			continue
		}
		changed := 0
		for w := 0; w < len(page); w += 8 {
			if random.IntN(oneIn) != 0 {
				continue
			}
			v := []uint64{
				0, ^uint64(0), uint64(random.IntN(1 << 16)), random.Uint64(),
				pages[random.IntN(len(pages))] + uint64(8*random.IntN(len(page)/8)),
				enc.LittleEndian.Uint64(page[8*random.IntN(len(page)/8):]),
			}[random.IntN(6)]
			enc.LittleEndian.PutUint64(page[w:], v)
			changed++
		}
		if _, err := mem.WriteAt(page, at); err == nil {
			words += changed
		}
	}
	return words
}

func presentPages(t *testing.T, pid int) (pages []uint64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := uint64(os.Getpagesize())
	for line := range strings.Lines(string(text)) {
		var start, end uint64
		var perm string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &start, &end, &perm); err != nil || !strings.HasPrefix(perm, "rw") {
			continue
		}
		entries := make([]byte, (end-start)/size*8)
		n, _ := f.ReadAt(entries, int64(start/size*8))
		for i := 0; i+8 <= n; i += 8 {
			if entries[i+7]&0x80 != 0 {
				pages = append(pages, start+uint64(i/8)*size)
			}
		}
	}
	if len(pages) == 0 {
		t.Fatal("no present page of writable memory found")
	}
	return pages
}

// The parts of a library's file that are not loaded (call frame information, symbols, lines) are overwritten
// before and during a recording.
func TestDamagedFilesOfARunningProgramBreakNothing(t *testing.T) {
	dir := scratch(t, nil)
	lib := filepath.Join(dir, "libwork.so")
	source, main := filepath.Join(dir, "work.c"), filepath.Join(dir, "main.c")
	for file, text := range map[string]string{
		source: "volatile long x; void inner(long n) { for (long i = 0; i < n; i++) x += i; }\n" +
			"void outer(long n) { inner(n); x++; }\nvoid work(void) { for (;;) outer(100000); }\n",
		main: "#include <stdio.h>\nvoid work(void);\nint main(void) { puts(\"ready\"); fflush(stdout); work(); }\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"-g", "-O1", "-fno-inline", "-shared", "-fPIC", "-o", lib, source},
		{"-o", filepath.Join(dir, "prog"), main, lib, "-Wl,-rpath," + dir},
	} {
		if out, err := bounded.AllOutput(exec.Command("gcc", args...)); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sound, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "prog"))
	testtargets.Ready(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	random := rand.New(rand.NewPCG(2, 29))
	spare := unloaded(t, lib)
	for range damages() {
		damaged := append([]byte(nil), sound...)
		for range 1 + random.IntN(2000) {
			s := spare[random.IntN(len(spare))]
			damaged[s.at+random.IntN(s.size)] = byte(random.IntN(256))
		}
		long := command{args: []string{"record", "-p", pid, "-d", "1", "-o", filepath.Join(dir, "long.pb.gz")}}.start(t)
		overwrite(t, lib, damaged)
		checkCommandsEnd(t, pid)
		overwrite(t, lib, sound)
		long.wait().must(t, 0)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the program ended: %v", err)
	}
}

type piece struct{ at, size int }

func unloaded(t *testing.T, lib string) (out []piece) {
	t.Helper()
	f, err := elf.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		spare := s.Flags&elf.SHF_ALLOC == 0 || strings.HasPrefix(s.Name, ".eh_frame")
		if spare && s.Size > 0 && s.Type != elf.SHT_NULL {
			out = append(out, piece{int(s.Offset), int(s.FileSize)})
		}
	}
	return append(out, piece{0x28, 8}, piece{0x3a, 6}) // ELF header: offset and number of sections
}

func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(data, 0)
		_ = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
