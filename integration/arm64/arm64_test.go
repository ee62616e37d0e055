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
)

const (
	fetched     = "PRYWALK_ARM64"
	onlyJobs    = "ARM64_ONLY"
	oracleSteps = "ORACLE_STEPS"
	newCounts   = "ARM64_COUNTS"
	logFile     = "ARM64_LOG"
)

const root = "../.."

// pauth-impdef signs by a cheaper function than the architecture's.
const cpu = "max,pauth-impdef=on"

const jobTime = 4 * time.Minute

// Tests that make system calls, decode data of the kernel, or depend on the processor.
var tests = []struct {
	pkg, run string
	env      string // NAME=VALUE, separated by spaces
	limit    time.Duration
}{
	{pkg: "./integration/arm64/inside", run: "-test.run=.", limit: jobTime},
	// No compiler is there for the program of TestAThreadReplacedByExecHasNoOtherTracer.
	{pkg: "./ptrace", run: "-test.skip=Storm|Fuzz|ReplacedByExec", limit: jobTime},
	{pkg: "./internal/procmem", run: "-test.run=Test", limit: jobTime},
	{pkg: "./benchmarks/counts", run: "-test.run=Risen/observations" + updates(), limit: jobTime},
	{pkg: "./integration/oracle", run: "-test.run=Exact|ColdParts",
		env: oracleSteps + "=" + steps() + " ORACLE_TIME=" + oracleTime().String() + " ORACLE_SECTIONS=" +
			os.Getenv("ORACLE_SECTIONS"), limit: oracleTime() + jobTime},
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

func TestProductInAnEmulatedMachine(t *testing.T) {
	from := os.Getenv(fetched)
	if from == "" {
		t.Skip("left to make test-all: boots an emulated machine")
	}
	b := &builder{t: t, dir: t.TempDir()}
	jobs := fill(b, from)
	initrd := filepath.Join(b.dir, "initrd")
	f, err := os.Create(initrd)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.img.finish(f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	limit := time.Minute
	for _, j := range jobs {
		limit += j.limit
	}
	c := boot(t, limit, filepath.Join(from, "vmlinuz"), initrd, cpu)
	c.write(t, os.Getenv(logFile))
	if !c.up || !c.down {
		t.Errorf("the machine did not boot and shut down:\n%s", strings.Join(c.rest, "\n"))
	}
	for _, j := range jobs {
		t.Run(j.name, func(t *testing.T) { c.checkJob(t, j) })
	}
	c.checkCores(t, b.sysroot())
	if os.Getenv(newCounts) != "" {
		c.keepBaseline(t)
	}
}

func (c *console) checkJob(t *testing.T, j job) {
	r := c.jobs[j.name]
	if r == nil {
		t.Fatal("the job did not begin")
	}
	out := strings.Join(r.output, "\n")
	if r.status != "ok" || !strings.Contains(out, "\nPASS") {
		t.Fatalf("status %s after %s s, want ok and PASS\n%s", r.status, r.seconds, out)
	}
	t.Logf("%d tests in %s s%s", strings.Count(out, "--- PASS: "), r.seconds, r.table())
}

func (r *result) table() string {
	var s strings.Builder
	for _, line := range r.output {
		if strings.Contains(line, " %  ") || strings.Contains(line, "(wrong)") {
			s.WriteString("\n" + line)
		}
	}
	return s.String()
}

func fill(b *builder, from string) (jobs []job) {
	for _, dir := range []string{"bin", "dev", "programs", "tests", "proc", "sys", "tmp"} {
		b.img.dir(dir)
	}
	b.img.add("dev/console", modeChar|0o600, 5, 1, nil)
	b.put("bin/busybox", filepath.Join(from, "busybox"))
	for _, compiler := range []string{"cc", "c++", "go"} {
		b.put("bin/"+compiler, "testdata/cc")
	}
	b.goBuild("init", root, "build", "./integration/arm64/init")
	b.goBuild("programs/prywalk", root, "build", "./cmd/prywalk")
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
		b.goBuild("tests/"+name, dir, "test", "-c", pkg)
		args := append([]string{"/tests/" + name, "-test.v", "-test.timeout=" + p.limit.String()}, strings.Fields(p.run)...)
		if p.env != "" {
			args = slices.Concat([]string{"env"}, strings.Fields(p.env), args)
		}
		jobs = append(jobs, job{name, p.limit, "/tests", args})
	}
	b.img.dir("tests/testdata")
	b.putBaseline()
	b.goBuild("tests/cores", root, "build", "./integration/arm64/cores")
	for _, j := range coreJobs(b) {
		if only.MatchString(j.name) {
			jobs = append(jobs, j)
		}
	}
	b.img.file("jobs", jobList(jobs))
	return jobs
}

func programs(b *builder) {
	for _, name := range []string{"crowd", "nursery"} {
		b.cc("programs/"+name, "-O2", filepath.Join(root, "benchmarks/counts/testdata", name+".c"))
	}
	b.cc("programs/vfork", "-O2", filepath.Join(root, "internal/testtargets/src/vfork.c"))
	b.cc("programs/execloop", "-O1", "-static", filepath.Join(root, "internal/testtargets/src/execloop.c"))
	b.cc("programs/execs", "-O1", "-pthread", filepath.Join(root, "internal/testtargets/src/execs.c"))
	b.cc("programs/target", "-O1", "-g", "-static", filepath.Join(root, "ptrace/testdata/target.c"))
	oracle := filepath.Join(root, "integration/oracle/testdata")
	b.cc("programs/libc", "-w", "-O2", "-fcommon", "-Wl,-z,lazy", "-fno-builtin", oracle+"/libc.c", "-lm")
	b.cc("programs/split", "-w", "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
		"-freorder-blocks-and-partition", oracle+"/split.c")
	b.cc("programs/libs", "-w", "-O2", "-Wl,-z,lazy", oracle+"/libs.c", "-ldl")
	b.cxx("programs/cpp", "-w", "-std=c++17", "-O2", "-Wl,-z,lazy", oracle+"/cpp.cc")
	b.goBuild("programs/goprog", root, "build", "./integration/oracle/testdata/goprog")
	b.goBuild("programs/busy", root, "build", "./integration/arm64/inside/testdata/busy")
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
		b.cc("programs/"+name, append(strings.Fields(flags), "inside/testdata/chain.c")...)
	}
	for name, flags := range casesOf {
		b.cc("programs/"+name, append(strings.Fields(flags), "testdata/cases.c")...)
	}
	b.goBuild("programs/gocase", root, "build", "./integration/arm64/testdata/gocase")
}

var casesOf = map[string]string{
	"cases":       "-O2 -static",
	"cases-pac":   "-O2 -static -march=armv8.3-a -mbranch-protection=standard",
	"cases-nocfi": "-O2 -static -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer",
	"cases-plt":   "-O2 -no-pie -fno-pie -fno-builtin -Wl,-z,lazy",
}

func libraries(b *builder, from string) {
	b.img.dir("lib")
	for _, name := range []string{"ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"} {
		b.put("lib/"+name, filepath.Join("/usr/aarch64-linux-gnu/lib", name))
	}
	for _, name := range []string{"libz.so.1", "libcrypto.so.3", "libsqlite3.so.0"} {
		b.put("lib/"+name, filepath.Join(from, "lib", name))
	}
}
