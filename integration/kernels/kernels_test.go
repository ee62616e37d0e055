// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/integration/machine"
	"prywalk/internal/testtargets"
)

const (
	fetched  = "PRYWALK_KERNELS" // the directory that scripts/kernels/fetch.sh prints
	releases = "KERNELS"         // of it, separated by spaces
	onlyRun  = "KERNELS_RUN"     // a regular expression of tests
	skipped  = "KERNELS_SKIP"    // the same of those to leave out
	logFile  = "KERNELS_LOG"
)

const root = "../.."

// A machine that a busy host gives little time is slow, and writes; one that hangs is silent. No test inside is silent
// for longer than its longest recording takes.
const (
	jobTime = 80 * time.Minute
	silence = 15 * time.Minute
)

// noTimerCheck is a boot parameter: on a busy host ticks can come so late that the kernel would panic.
const noTimerCheck = "no_timer_check"

func TestProductOnDebiansKernels(t *testing.T) {
	from := os.Getenv(fetched)
	testtargets.Need(t, from != "", "Debian's kernels in emulated machines", "make test-kernels")
	all := strings.Fields(os.Getenv(releases))
	if len(all) == 0 {
		t.Fatal(releases + " names no release")
	}
	for i, release := range all {
		t.Run(release, func(t *testing.T) { testOn(t, from, release, len(all)-i) })
	}
}

// testOn tests a release, of which so many are left.
func testOn(t *testing.T, from, release string, left int) {
	remedy := "make test-kernels KERNELS=" + release
	_, err := os.Stat(filepath.Join(from, release, "version"))
	testtargets.Need(t, err == nil, "Debian's kernel "+release, remedy)
	share := min(machine.NeedTime(t, left, remedy), jobTime)
	b := machine.NewBuilder(t, "amd64", filepath.Join(from, "busybox"))
	fill(b)
	run, skip := os.Getenv(onlyRun), os.Getenv(skipped)
	whole := run == "" && skip == ""
	if skip != "" {
		t.Logf("left out: %s", skip)
		checkSkipped(t, b, skip)
	}
	if whole && os.Getenv(update) != "" {
		rewriteRow(t, debian[indexOf(release)].name, "")
	}
	jobs := jobsOf(t, b, run, skip)
	m := emulated(from, release)
	m.Time, m.Remedy = share, remedy
	c := m.Boot(b, jobs)
	for _, j := range jobs {
		c.CheckJob(t, j)
	}
	if whole {
		checkRow(t, release, c.Jobs["inside"])
	}
}

func emulated(from, release string) machine.Machine {
	return machine.Machine{Emulator: "qemu-system-x86_64", Args: []string{"-accel", "tcg", "-cpu", "max", "-m", "2048"},
		Kernel: filepath.Join(from, release, "vmlinuz"), Console: "ttyS0",
		Append: noTimerCheck, Log: os.Getenv(logFile), Silence: silence}
}

// One thread of the host emulates all processors, in turn. With one for each, those that wait for a lock would take the
// host's few processors from the one that has it.
func TestProductOn64Processors(t *testing.T) {
	from := os.Getenv(fetched)
	const name = "OnManyProcessors"
	others := os.Getenv(onlyRun) != "" && !strings.Contains(os.Getenv(onlyRun), name)
	testtargets.Need(t, from != "" && !testtargets.All() && !others, "an emulated machine of 64 processors",
		"make test-kernels")
	all := strings.Fields(os.Getenv(releases))
	release := all[len(all)-1]
	_, err := os.Stat(filepath.Join(from, release, "version"))
	testtargets.Need(t, err == nil, "Debian's kernel "+release, "make test-kernels KERNELS="+release)
	b := machine.NewBuilder(t, "amd64", filepath.Join(from, "busybox"))
	b.GoBuild("programs/prywalk", root, "build", "./cmd/prywalk")
	inside := "./integration/machine/inside"
	b.GoBuild("tests/inside", root, "test", "-c", inside)
	b.Compile("gcc", "programs/chain", "-O2", "-static", filepath.Join(root, inside, "testdata/chain.c"))
	m := emulated(from, release)
	m.CPUs = 64
	m.Args[slices.Index(m.Args, "tcg")] = "tcg,thread=single"
	job := machine.Job{Name: "inside", Limit: jobTime, Dir: "/tests", Args: []string{"env", "PRYWALK_PROCESSORS=64",
		"/tests/inside", "-test.v", "-test.timeout=0", "-test.run=" + name}}
	m.Boot(b, []machine.Job{job}).CheckJob(t, job)
}

// tortured are the tests of package torture that judge results, need nothing but static programs, and end soon in an
// emulated machine.
const tortured = "EffectOfAStopOnEachCall|NoBlockingCallNotices|ShortCounts|RareInterfaces|RealSignalsInterrupt|" +
	"NoSignalOf|ParentSees|SetuidPrograms|ForkAndVfork|ExecInANonLeader|ShortLivedThreads|KilledTargets"

// jobsOf has the jobs in which a test is to run.
func jobsOf(t *testing.T, b *machine.Builder, run, skip string) (jobs []machine.Job) {
	t.Helper()
	for _, j := range []struct{ name, run string }{{"inside", run}, {"torture", cmp.Or(run, tortured)}} {
		if !regexp.MustCompile(`(?m)^Test`).Match(tests(t, b.From["tests/"+j.name], j.run)) {
			continue
		}
		// Machine.Time ends first: a job's own timeout would count as a failure.
		jobs = append(jobs, machine.Job{Name: j.name, Limit: 2 * jobTime, Dir: "/tests",
			Args: []string{"env", "PRYWALK_KERNEL_TESTS=1", "/tests/" + j.name, "-test.v", "-test.timeout=0",
				"-test.run=" + j.run, "-test.skip=" + skip}})
	}
	if len(jobs) == 0 {
		t.Fatalf("no test's name has %q", run)
	}
	return jobs
}

// tests lists those of a test binary that match a regular expression.
func tests(t *testing.T, binary, matching string) []byte {
	t.Helper()
	function, _, _ := strings.Cut(matching, "/")
	names, err := exec.Command(binary, "-test.list="+cmp.Or(function, ".")).Output()
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var groups = regexp.MustCompile(`\([^()]*\)`)

// checkSkipped fails for a pattern whose function is no test, as after it was renamed. Subtests are not checked.
func checkSkipped(t *testing.T, b *machine.Builder, skip string) {
	t.Helper()
	names := append(tests(t, b.From["tests/inside"], ""), tests(t, b.From["tests/torture"], "")...)
	for alternative := range strings.SplitSeq(groups.ReplaceAllString(skip, ""), "|") {
		function, _, _ := strings.Cut(alternative, "/")
		if !regexp.MustCompile(function).Match(names) {
			t.Errorf("%s: no test's name has %q", skipped, function)
		}
	}
}

func fill(b *machine.Builder) {
	b.GoBuild("programs/prywalk", root, "build", "./cmd/prywalk")
	inside := "./integration/machine/inside"
	b.GoBuild("tests/inside", root, "test", "-c", inside)
	b.GoBuild("programs/busy", root, "build", inside+"/testdata/busy")
	b.Compile("gcc", "programs/target", "-O1", "-g", "-static", filepath.Join(root, "ptrace/testdata/target.c"))
	const noCFI = "-fno-asynchronous-unwind-tables -fno-unwind-tables"
	for name, flags := range map[string]string{
		"chain":            "-O2 -static",
		"chain-O0":         "-O0 -static",
		"chain-dynamic":    "-O2 -pie -fPIE",
		"chain-high":       "-O2 -static -DHIGH",
		"chain-cet":        "-O2 -static -fcf-protection=full",
		"chain-nocfi":      "-O2 -static -fno-omit-frame-pointer " + noCFI,
		"chain-nocfi-nofp": "-O2 -static -fomit-frame-pointer " + noCFI,
	} {
		b.Compile("gcc", "programs/"+name, append(strings.Fields(flags), filepath.Join(root, inside, "testdata/chain.c"))...)
	}
	torture := filepath.Join(root, "integration/torture/src")
	b.GoBuild("tests/torture", root, "test", "-c", "./integration/torture")
	b.GoBuild("programs/urgent", torture, "build", "./urgent")
	for _, name := range strings.Fields("calls churn eintr execs forks jobs mix rare setuid storm") {
		files, err := filepath.Glob(filepath.Join(torture, name+"_*.c"))
		if err != nil {
			b.T.Fatal(err)
		}
		b.Compile("gcc", "programs/"+name, append([]string{"-O1", "-g", "-w", "-static", filepath.Join(torture, name+".c")},
			files...)...)
	}
	b.Compile("gcc", "programs/deadlock", "-O1", "-static", filepath.Join(root, inside, "testdata/deadlock.c"))
	// Debian's linker searches lib, that of others lib64.
	for _, dir := range []string{"lib", "lib64"} {
		b.Img.Directory(dir)
		b.Put(dir+"/libc.so.6", libc(b.T))
	}
	b.Put("lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2")
	languages(b)
}

// libc is the path of this machine's C library.
func libc(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("gcc", "-print-file-name=libc.so.6").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
