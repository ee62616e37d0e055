package arm64

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fetched names the directory that holds the kernel and busybox: scripts/arm64/fetch.sh prints it.
const fetched = "PRYWALK_ARM64"

// onlyJobs, if set, leaves out the jobs whose names do not contain it.
const onlyJobs = "ARM64_ONLY"

// root is the repository's, seen from here.
const root = "../.."

// cpu has pointer authentication and branch target identification. With pauth-impdef qemu signs by a
// cheaper function than the architecture's.
const cpu = "max,pauth-impdef=on"

// tests are the packages whose tests run in the machine, and which of them: those that make system
// calls, decode what the kernel gives, or depend on the processor.
var tests = []struct {
	pkg, run string
	env      string // of the form NAME=VALUE
	open     bool   // not all is right there yet: the result is shown, and not held to
}{
	{pkg: "./integration/arm64/inside", run: "-test.run=."},
	{pkg: "./ptrace", run: "-test.skip=Storm|Fuzz"},
	{pkg: "./internal/procmem", run: "-test.run=Test"},
	{pkg: "./integration/oracle", run: "-test.run=Exact.*/(libc|go)$", env: "ORACLE_STEPS=12000", open: true},
}

func TestProductInAnEmulatedMachine(t *testing.T) {
	from := os.Getenv(fetched)
	if from == "" {
		t.Skip("boots an emulated machine; run by make test-arm64")
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
	c := boot(t, filepath.Join(from, "vmlinuz"), initrd, cpu, func(s string) { t.Log(s) })
	if !c.up || !c.down {
		t.Errorf("the machine did not come up and go down:\n%s", strings.Join(c.rest, "\n"))
	}
	for _, j := range jobs {
		t.Run(j.name, func(t *testing.T) { c.judge(t, j) })
	}
}

// judge reports how a job went.
func (c *console) judge(t *testing.T, j job) {
	r := c.jobs[j.name]
	if r == nil {
		t.Fatal("it did not begin")
	}
	out := strings.Join(r.output, "\n")
	if right := r.status == "ok" && strings.Contains(out, "\nPASS"); !right && !j.open {
		t.Fatalf("%s after %s s\n%s", r.status, r.seconds, out)
	}
	t.Logf("%s after %s s\n%s", r.status, r.seconds, out)
}

// fill puts all into the archive that the machine unpacks.
func fill(b *builder, from string) (jobs []job) {
	for _, dir := range []string{"bin", "dev", "programs", "tests", "proc", "sys", "tmp"} {
		b.img.dir(dir)
	}
	b.img.add("dev/console", modeChar|0o600, 5, 1, nil)
	b.put("bin/busybox", filepath.Join(from, "busybox"))
	b.put("bin/cc", "testdata/cc")
	b.put("bin/go", "testdata/cc")
	b.goBuild("init", root, "build", "./integration/arm64/init")
	b.goBuild("programs/prywalk", root, "build", "./cmd/prywalk")
	programs(b)
	for _, p := range tests {
		name := strings.ReplaceAll(strings.TrimPrefix(p.pkg, "./"), "/", "-")
		if only := os.Getenv(onlyJobs); !strings.Contains(name, only) {
			continue
		}
		b.goBuild("tests/"+name, root, "test", "-c", p.pkg)
		args := []string{"/tests/" + name, "-test.v", p.run}
		if p.env != "" {
			args = append([]string{"env", p.env}, args...)
		}
		jobs = append(jobs, job{name, "/tests", args, p.open})
	}
	b.img.file("jobs", jobList(jobs))
	return jobs
}

// programs compiles what is looked at.
func programs(b *builder) {
	b.cc("programs/target", "-O1", "-g", "-static", filepath.Join(root, "ptrace/testdata/target.c"))
	b.cc("programs/libc", "-w", "-O2", "-fcommon", "-Wl,-z,lazy", "-fno-builtin", filepath.Join(root, "integration/oracle/testdata/libc.c"), "-lm")
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
	b.img.dir("lib")
	for _, name := range []string{"ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6"} {
		b.put("lib/"+name, filepath.Join("/usr/aarch64-linux-gnu/lib", name))
	}
}
