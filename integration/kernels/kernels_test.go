// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/integration/machine"
)

const (
	fetched  = "PRYWALK_KERNELS" // the directory that scripts/kernels/fetch.sh prints
	releases = "KERNELS"         // of it, separated by spaces; "": the oldest and the newest
	onlyRun  = "KERNELS_RUN"     // a regular expression of tests
	logFile  = "KERNELS_LOG"
)

const root = "../.."

// leftOut are tests for which make test-all has no time: it has four minutes for two kernels.
const leftOut = "Launched|StacksOfCPrograms.*/chain-(O0|dynamic|nocfi-nofp)"

const jobTime = 8 * time.Minute

func TestProductOnDebiansKernels(t *testing.T) {
	from := os.Getenv(fetched)
	if from == "" {
		t.Skip("left to make test-all: boots emulated machines")
	}
	list := strings.Fields(os.Getenv(releases))
	if len(list) == 0 {
		list = []string{"5.10", "newest"}
	}
	for _, release := range list {
		t.Run(release, func(t *testing.T) { testOn(t, from, release) })
	}
}

func testOn(t *testing.T, from, release string) {
	b := machine.NewBuilder(t, "amd64", filepath.Join(from, "busybox"))
	fill(b)
	run := "-test.run=" + os.Getenv(onlyRun)
	if os.Getenv(releases) == "" {
		run += " -test.skip=" + leftOut
	}
	jobs := []machine.Job{{Name: "inside", Limit: jobTime, Dir: "/tests",
		Args: []string{"env", "PRYWALK_KERNEL_TESTS=1", "/tests/inside", "-test.v", "-test.timeout=" + jobTime.String()}}}
	jobs[0].Args = append(jobs[0].Args, strings.Fields(run)...)
	m := machine.Machine{Emulator: "qemu-system-x86_64", Args: []string{"-accel", "tcg", "-cpu", "max", "-m", "1024"},
		Kernel: filepath.Join(from, release, "vmlinuz"), Console: "ttyS0",
		Log: os.Getenv(logFile)}
	c := m.Boot(b, jobs)
	c.CheckJob(t, jobs[0])
	if os.Getenv(onlyRun) == "" || os.Getenv(update) != "" {
		checkRow(t, release, c.Jobs["inside"])
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
		"chain-nocfi":      "-O2 -static -fno-omit-frame-pointer " + noCFI,
		"chain-nocfi-nofp": "-O2 -static -fomit-frame-pointer " + noCFI,
	} {
		b.Compile("gcc", "programs/"+name, append(strings.Fields(flags), filepath.Join(root, inside, "testdata/chain.c"))...)
	}
	b.Compile("gcc", "programs/deadlock", "-O1", "-static", filepath.Join(root, inside, "testdata/deadlock.c"))
	for _, dir := range []string{"lib", "lib64"} {
		b.Img.Directory(dir)
	}
	b.Put("lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2")
	b.Put("lib64/libc.so.6", libc(b.T))
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
