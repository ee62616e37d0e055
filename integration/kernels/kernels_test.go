// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/integration/machine"
)

const (
	fetched  = "PRYWALK_KERNELS" // the directory that scripts/kernels/fetch.sh prints
	releases = "KERNELS"         // of it, separated by spaces; ""; the oldest and the newest
	onlyRun  = "KERNELS_RUN"     // a regular expression of tests
	logFile  = "KERNELS_LOG"
)

const root = "../.."

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
	jobs := []machine.Job{{Name: "inside", Limit: jobTime, Dir: "/tests",
		Args: []string{"/tests/inside", "-test.v", "-test.timeout=" + jobTime.String(), run}}}
	m := machine.Machine{Emulator: "qemu-system-x86_64", Args: []string{"-accel", "tcg", "-cpu", "max", "-m", "1024"},
		Kernel: filepath.Join(from, release, "vmlinuz"), Console: "ttyS0"}
	c := m.Boot(b, jobs)
	c.Write(t, os.Getenv(logFile))
	c.CheckJob(t, jobs[0])
}

func fill(b *machine.Builder) {
	b.GoBuild("programs/prywalk", root, "build", "./cmd/prywalk")
	inside := "./integration/machine/inside"
	b.GoBuild("tests/inside", root, "test", "-c", inside)
	b.GoBuild("programs/busy", root, "build", inside+"/testdata/busy")
	b.Compile("gcc", "programs/target", "-O1", "-g", "-static", filepath.Join(root, "ptrace/testdata/target.c"))
	b.Compile("gcc", "programs/chain", "-O2", "-static", filepath.Join(root, inside, "testdata/chain.c"))
	b.Compile("gcc", "programs/chain-nocfi", "-O2", "-static", "-fno-omit-frame-pointer",
		"-fno-asynchronous-unwind-tables", "-fno-unwind-tables", filepath.Join(root, inside, "testdata/chain.c"))
}
