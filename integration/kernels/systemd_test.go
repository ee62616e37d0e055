// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"prywalk/integration/machine"
	"prywalk/internal/testtargets"
)

const systemdRoot = "PRYWALK_SYSTEMD" // the archive that scripts/kernels/systemd.sh prints

// firstProgram puts a Debian in place of the initrd, as its own initrd does, with the files of the test.
const firstProgram = `#!/bin/busybox sh
/bin/busybox mkdir /debian
/bin/busybox mount -t tmpfs -o size=75%,mode=755 debian /debian
/bin/busybox tar -xf /root.tar -C /debian
/bin/busybox rm /root.tar
/bin/busybox cp -a /tests /debian/
/bin/busybox cp -a /programs/. /debian/usr/bin/
/bin/busybox cp -a /units/. /debian/etc/systemd/system/
exec /bin/busybox switch_root /debian /sbin/init
`

const systemdTime = 30 * time.Minute

const testUnit = `[Service]
ExecStart=/tests/run
`

// Lines of the serial line as package machine's init writes them.
const runTests = `#!/bin/sh
exec >/dev/ttyS0 2>&1
cd /tests
echo "@@ up"
echo "@@ job inside"
status=failed
PRYWALK_SYSTEMD_TESTS=1 PRYWALK_PROGRAMS=/usr/bin ./inside -test.v -test.run=Systemd -test.timeout=29m && status=ok
echo
echo "@@ end inside $status 0"
echo "@@ down"
systemctl poweroff --force --force
`

func TestServiceOfThePackageUnderSystemd(t *testing.T) {
	from, debian := os.Getenv(fetched), os.Getenv(systemdRoot)
	testtargets.Need(t, from != "" && debian != "", "a Debian with systemd in an emulated machine", "make test-systemd")
	b := &machine.Builder{T: t, Dir: t.TempDir(), Arch: "amd64", From: map[string]string{}}
	for _, dir := range []string{"bin", "dev", "programs", "tests", "units"} {
		b.Img.Directory(dir)
	}
	b.Img.Add("dev/console", machine.ModeChar|0o600, 5, 1, nil)
	b.Put("bin/busybox", filepath.Join(from, "busybox"))
	b.Put("root.tar", debian)
	b.Img.File("init", []byte(firstProgram))
	b.Img.File("tests/run", []byte(runTests))
	b.Img.File("units/tests.service", []byte(testUnit))
	b.Put("tests/prywalk.deb", debPackage(b))
	inside := "./integration/machine/inside"
	b.GoBuild("tests/inside", root, "test", "-c", inside)
	b.GoBuild("programs/busy", root, "build", inside+"/testdata/busy")
	job := machine.Job{Name: "inside", Limit: systemdTime}
	m := machine.Machine{Emulator: "qemu-system-x86_64", Args: []string{"-accel", "tcg", "-cpu", "max", "-m", "3072"},
		Kernel: filepath.Join(from, "6.1/vmlinuz"), Console: "ttyS0", Log: os.Getenv(logFile),
		Append: noTimerCheck + " systemd.show_status=no systemd.wants=tests.service systemd.mask=serial-getty@ttyS0.service"}
	m.Boot(b, []machine.Job{job}).CheckJob(t, job)
}

// debPackage makes the package as make dist does.
func debPackage(b *machine.Builder) string {
	b.T.Helper()
	dir := filepath.Join(b.Dir, "dist")
	b.Run(filepath.Join(root, "tools"), nil, "go", "run", "./dist", "-root", "..", "-version", "v0.1.0", "-out", dir)
	found, err := filepath.Glob(filepath.Join(dir, "*_amd64.deb"))
	if err != nil || len(found) != 1 {
		b.T.Fatalf("packages in %s: %v %v, want one", dir, found, err)
	}
	return found[0]
}
