// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	enc "encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const maxPeak = 512 << 20

// measuredVariable is the file that gets the peak of the command in this program's arguments, bytes.
const measuredVariable = "PRYWALK_TEST_PEAK"

// measure runs a command. The kernel counts the memory of the process that starts a program as this program's
// (setmax_mm_hiwater_rss in fs/exec.c), and that of the tests can be hundreds of MB.
func measure() {
	file := os.Getenv(measuredVariable)
	os.Unsetenv(measuredVariable)
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread() // Pdeathsig is of the thread
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := bounded.Run(cmd); cmd.ProcessState == nil {
		panic(err)
	}
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	if err := os.WriteFile(file, strconv.AppendInt(nil, peak, 10), 0o600); err != nil {
		panic(err)
	}
	code := cmd.ProcessState.ExitCode()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		code = 128 + int(s.Signal())
	}
	os.Exit(code)
}

func runMeasured(t *testing.T, args ...string) (result, int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "peak")
	c := command{exe: os.Args[0], args: append([]string{binary}, args...), env: []string{measuredVariable + "=" + file}}
	r := c.start(t).wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	peak, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %d MB, exit code %d, %s", args[0], peak>>20, r.code, clip(r.stderr))
	if peak > maxPeak {
		t.Errorf("%v took %d MB, want at most 512", args, peak>>20)
	}
	return r, peak
}

func compileC(t *testing.T, source string, flags ...string) string {
	t.Helper()
	exe := filepath.Join(scratch(t, nil), "prog")
	if out, err := bounded.AllOutput(exec.Command("gcc", append(flags, "-O1", "-o", exe,
		"testdata/"+source)...)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return exe
}

func TestHugeEntriesOfPerfMapsTakeLittleMemory(t *testing.T) {
	exe := compileC(t, "jitloop.c")
	var pids []string
	for range testtargets.Times(2, 6) {
		cmd := exec.Command(exe)
		testtargets.Ready(t, cmd)
		pid := strconv.Itoa(cmd.Process.Pid)
		file := "/tmp/perf-" + pid + ".map"
		t.Cleanup(func() { _ = os.Remove(file) })
		if err := os.WriteFile(file, []byte("1000 10 somewhere\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, 255<<20); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	stats := filepath.Join(scratch(t, nil), "stats.json")
	r, peak := runMeasured(t, "record", "-d", "1", "-p", strings.Join(pids, ","), "--stats", stats)
	r.must(t, 0)
	if peak > 150<<20 {
		t.Errorf("record took %d MB for %d perf maps of one line, want at most 150", peak>>20, len(pids))
	}
	var s struct{ Ticks, Samples int64 }
	text, err := os.ReadFile(stats)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil || s.Samples == 0 {
		t.Errorf("no samples in the statistics: %+v, %v", s, err)
	}
	runMeasured(t, "dump", "-p", strings.Join(pids, ","))
}

func compressible(t *testing.T, size int64) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 1<<20)
	for i := range piece {
		piece[i] = byte(i / 100 * 7)
	}
	for ; size > 0; size -= int64(len(piece)) {
		if _, err := z.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func withSections(t *testing.T, exe string, data []byte, names ...string) {
	t.Helper()
	code, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	le := enc.LittleEndian
	shoff, n, strs := le.Uint64(code[40:]), int(le.Uint16(code[60:])), int(le.Uint16(code[62:]))
	headers := bytes.Clone(code[shoff : shoff+uint64(n*64)])
	old := headers[strs*64:]
	table := bytes.Clone(code[le.Uint64(old[24:]) : le.Uint64(old[24:])+le.Uint64(old[32:])])
	at := len(code)
	code = append(code, data...)
	for _, name := range names {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(len(table)))
		le.PutUint32(h[4:], 1)
		le.PutUint64(h[8:], 0x800)
		le.PutUint64(h[24:], uint64(at))
		le.PutUint64(h[32:], uint64(len(data)))
		table = append(append(table, name...), 0)
		headers = append(headers, h...)
	}
	le.PutUint64(headers[strs*64+24:], uint64(len(code)))
	le.PutUint64(headers[strs*64+32:], uint64(len(table)))
	code = append(code, table...)
	le.PutUint64(code[40:], uint64(len(code)))
	le.PutUint16(code[60:], uint16(n+len(names)))
	code = append(code, headers...)
	if err := testtargets.WriteExecutable(exe, code); err != nil {
		t.Fatal(err)
	}
}

func TestCompressedDebugInformationIsBounded(t *testing.T) {
	const size = 100 << 20
	exe := compileC(t, "hostile.c", "-pthread", "-s")
	head := enc.LittleEndian.AppendUint64(enc.LittleEndian.AppendUint64(nil, 1), size)
	head = enc.LittleEndian.AppendUint64(head, 1)
	withSections(t, exe, append(head, compressible(t, size)...), ".debug_info", ".debug_abbrev", ".debug_line",
		".debug_str", ".debug_line_str", ".debug_str_offsets", ".debug_addr", ".debug_ranges", ".debug_rnglists",
		".debug_aranges", ".debug_frame")
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	for _, args := range [][]string{{"dump", "-p", pid}, {"record", "-d", "1", "-p", pid}, {"doctor", "-p", pid}} {
		r, _ := runMeasured(t, args...)
		if args[0] != "doctor" {
			r.must(t, 0)
		}
		if args[0] == "dump" && (!strings.Contains(r.stdout, exe) ||
			strings.Count(r.stderr, "--max-memory 1G allows more") != 1) {
			t.Errorf("%v: want \"--max-memory 1G allows more\" once, and frames of the program: %s\n%s", args, r.stderr,
				clip(r.stdout))
		}
	}
}

func TestSmallProfilesThatBecomeLargeAreRefused(t *testing.T) {
	type part struct {
		name  string
		entry []byte
	}
	for _, p := range testtargets.First([]part{{"labels", []byte{0x12, 2, 0x1a, 0}}, {"samples", []byte{0x12, 0}},
		{"locations", []byte{0x22, 0}}, {"strings", []byte{0x32, 0}}}) {
		name, entry := p.name, p.entry
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		if _, err := z.Write([]byte{0x32, 0, 0x0a, 0}); err != nil {
			t.Fatal(err)
		}
		block := bytes.Repeat(entry, 1<<20/len(entry))
		for range 50 {
			if _, err := z.Write(block); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(scratch(t, nil), name)
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		r, _ := runMeasured(t, "report", file)
		r.must(t, 1).oneLine(t, "too large", "--max-memory")
		c := command{exe: "/bin/sh", args: []string{"-c", `cat "$1" | "$0" report -`, binary, file}}
		c.run(t).must(t, 1).oneLine(t, "too large", "--max-memory")
	}
}

func TestMaxMemoryRefusesInvalidSizes(t *testing.T) {
	for _, bad := range []string{"1M", "much", "-1G", "", "NaN"} {
		prywalk(t, "report", "--max-memory", bad, "/dev/null").must(t, 2).oneLine(t, "not an amount of memory")
	}
	for _, good := range []string{"64M", "2G", "1.5GB", "300000000", "512m"} {
		r := prywalk(t, "report", "--max-memory", good, "/dev/null")
		r.must(t, 1).oneLine(t, "empty")
	}
}
