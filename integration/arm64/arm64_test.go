// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"cmp"
	"fmt"
	"os"
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
	fetched     = "PRYWALK_ARM64"
	otherKernel = "ARM64_KERNEL" // in place of that in the directory
	onlyJobs    = "ARM64_ONLY"
	oracleSteps = "ORACLE_STEPS"
	newCounts   = "ARM64_COUNTS"
	logFile     = "ARM64_LOG"
)

const root = "../.."

const remedy = "make test-arm64"

// pauth-impdef signs by a cheaper function than the architecture's.
const cpu = "max,pauth-impdef=on"

const (
	gcc = "aarch64-linux-gnu-gcc"
	gxx = "aarch64-linux-gnu-g++"
)

// jobTime ends a job that hangs: on a busy host an emulated machine may be ten times as slow.
const jobTime = 20 * time.Minute

// Tests that make system calls, decode data of the kernel, or depend on the processor.
var tests = []struct {
	pkg, run string
	env      string // NAME=VALUE, separated by spaces
	limit    time.Duration
}{
	{pkg: "./integration/machine/inside", run: "-test.run=.", limit: jobTime},
	// No compiler is there for the program of TestAThreadReplacedByExecHasNoOtherTracer.
	{pkg: "./ptrace", run: "-test.skip=Storm|Fuzz|ReplacedByExec", limit: jobTime},
	{pkg: "./internal/host/procmem", run: "-test.run=Test", limit: jobTime},
	{pkg: "./benchmarks/counts", run: "-test.run=Risen/observations" + updates(), limit: jobTime},
	{pkg: "./integration/oracle", run: "-test.run=Exact|ColdParts",
		env: oracleSteps + "=" + steps() + " ORACLE_TIME=" + oracleTime().String() + " ORACLE_SECTIONS=" +
			os.Getenv("ORACLE_SECTIONS"), limit: oracleTime() + jobTime},
}

func emulated(from string) *machine.Machine {
	return &machine.Machine{Emulator: "qemu-system-aarch64", Args: []string{"-machine", "virt", "-cpu", cpu, "-m", "1536"},
		Kernel: cmp.Or(os.Getenv(otherKernel), filepath.Join(from, "vmlinuz")), Console: "ttyAMA0", Log: os.Getenv(logFile),
		// No job is silent for longer than its limit: at its end init writes.
		Silence: oracleTime() + jobTime + time.Minute, Remedy: remedy}
}

func updates() string {
	if os.Getenv(newCounts) == "" {
		return ""
	}
	return " -update"
}

// A little more than 100,000 steps: one of five programs is missing, as Debian has no Rust cross compiler for arm64.
const defaultSteps = "116000"

func steps() string { return cmp.Or(os.Getenv(oracleSteps), defaultSteps) }

// An emulated machine makes some 1,000 steps a second, on a busy host a fifth of that.
func oracleTime() time.Duration {
	var n int
	_, _ = fmt.Sscan(steps(), &n)
	return time.Duration(n/500) * time.Second
}

// needFetched skips a test outside of make test-all and make test-arm64, and where the first could not fetch the
// machine.
func needFetched(t *testing.T, from string) {
	t.Helper()
	if from == "" {
		testtargets.OnlyInAll(t, "boots an emulated machine")
		testtargets.Need(t, false, "Debian's arm64 kernel and libraries", remedy)
	}
}

func TestProductInAnEmulatedMachine(t *testing.T) {
	from := os.Getenv(fetched)
	needFetched(t, from)
	machine.NeedTime(t, 1, remedy)
	b := machine.NewBuilder(t, "arm64", filepath.Join(from, "busybox"))
	jobs := fill(b, from)
	c := emulated(from).Boot(b, jobs)
	for _, j := range jobs {
		t.Run(j.Name, func(t *testing.T) { c.CheckJob(t, j) })
	}
	checkCores(c, t, b.Sysroot())
	if os.Getenv(newCounts) != "" {
		keepBaseline(c, t)
	}
}

func fill(b *machine.Builder, from string) (jobs []machine.Job) {
	for _, compiler := range []string{"cc", "c++", "go"} {
		b.Put("bin/"+compiler, "testdata/cc")
	}
	b.GoBuild("programs/prywalk", root, "build", "./cmd/prywalk")
	programs(b)
	libraries(b, from)
	only := regexp.MustCompile(os.Getenv(onlyJobs))
	for _, p := range tests {
		name := strings.ReplaceAll(strings.TrimPrefix(p.pkg, "./"), "/", "-")
		if !only.MatchString(name) {
			continue
		}
		dir, pkg := root, p.pkg
		if in, ok := strings.CutPrefix(pkg, "./benchmarks/"); ok {
			dir, pkg = filepath.Join(root, "benchmarks"), "./"+in
		}
		b.GoBuild("tests/"+name, dir, "test", "-c", pkg)
		args := append([]string{"/tests/" + name, "-test.v", "-test.timeout=" + p.limit.String()}, strings.Fields(p.run)...)
		if p.env != "" {
			args = slices.Concat([]string{"env"}, strings.Fields(p.env), args)
		}
		jobs = append(jobs, machine.Job{Name: name, Limit: p.limit, Dir: "/tests", Args: args})
	}
	b.Img.Directory("tests/testdata")
	putBaseline(b)
	b.GoBuild("tests/cores", root, "build", "./integration/arm64/cores")
	for _, j := range coreJobs(b) {
		if only.MatchString(j.Name) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

func programs(b *machine.Builder) {
	for _, name := range []string{"crowd", "nursery"} {
		b.Compile(gcc, "programs/"+name, "-O2", filepath.Join(root, "benchmarks/counts/testdata", name+".c"))
	}
	b.Compile(gcc, "programs/vfork", "-O2", filepath.Join(root, "internal/testtargets/src/vfork.c"))
	b.Compile(gcc, "programs/execloop", "-O1", "-static", filepath.Join(root, "internal/testtargets/src/execloop.c"))
	b.Compile(gcc, "programs/execs", "-O1", "-pthread", filepath.Join(root, "internal/testtargets/src/execs.c"))
	b.Compile(gcc, "programs/target", "-O1", "-g", "-static", filepath.Join(root, "ptrace/testdata/target.c"))
	oracle := filepath.Join(root, "integration/oracle/testdata")
	b.Compile(gcc, "programs/libc", "-w", "-O2", "-fcommon", "-Wl,-z,lazy", "-fno-builtin", oracle+"/libc.c", "-lm")
	b.Compile(gcc, "programs/split", "-w", "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables",
		"-fno-unwind-tables", "-freorder-blocks-and-partition", oracle+"/split.c")
	b.Compile(gcc, "programs/libs", "-w", "-O2", "-Wl,-z,lazy", oracle+"/libs.c", "-ldl")
	b.Compile(gxx, "programs/cpp", "-w", "-std=c++17", "-O2", "-Wl,-z,lazy", oracle+"/cpp.cc")
	b.GoBuild("programs/goprog", root, "build", "./integration/oracle/testdata/goprog")
	b.GoBuild("programs/busy", root, "build", "./integration/machine/inside/testdata/busy")
	const noCFI = "-fno-asynchronous-unwind-tables -fno-unwind-tables"
	for name, flags := range map[string]string{
		"chain":            "-O2 -static",
		"chain-O0":         "-O0 -static",
		"chain-dynamic":    "-O2 -pie -fPIE",
		"chain-pac":        "-O2 -static -mbranch-protection=standard",
		"chain-nocfi":      "-O2 -static -fno-omit-frame-pointer " + noCFI,
		"chain-nocfi-nofp": "-O2 -static -fomit-frame-pointer " + noCFI,
		"chain-nocfi-pac":  "-O2 -static -fomit-frame-pointer -mbranch-protection=standard " + noCFI,
	} {
		b.Compile(gcc, "programs/"+name, append(strings.Fields(flags), "../machine/inside/testdata/chain.c")...)
	}
	for name, flags := range casesOf {
		b.Compile(gcc, "programs/"+name, append(strings.Fields(flags), "testdata/cases.c")...)
	}
	b.GoBuild("programs/gocase", root, "build", "./integration/arm64/testdata/gocase")
}

var casesOf = map[string]string{
	"cases":       "-O2 -static",
	"cases-pac":   "-O2 -static -march=armv8.3-a -mbranch-protection=standard",
	"cases-nocfi": "-O2 -static -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer",
	"cases-plt":   "-O2 -no-pie -fno-pie -fno-builtin -Wl,-z,lazy",
}

func libraries(b *machine.Builder, from string) {
	b.Img.Directory("lib")
	for _, name := range []string{"ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"} {
		b.Put("lib/"+name, filepath.Join("/usr/aarch64-linux-gnu/lib", name))
	}
	for _, name := range []string{"libz.so.1", "libcrypto.so.3", "libsqlite3.so.0"} {
		b.Put("lib/"+name, filepath.Join(from, "lib", name))
	}
}
