// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestMountsAreReadAgainAfterAChange(t *testing.T) {
	if os.Getenv("OWN_MOUNTS") == "" {
		testtargets.NeedRoot(t, "mount")
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), "OWN_MOUNTS=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		if out, err := bounded.AllOutput(cmd); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	before := mountsFor(&Request{Path: "/etc/passwd"})
	if again := mountsFor(&Request{Path: "/etc/passwd"}); fmt.Sprintf("%p", again.own) != fmt.Sprintf("%p", before.own) {
		t.Error("an unchanged list was read again")
	}
	if sharesMounts(fmt.Sprintf("/proc/%d", os.Getppid())) || !sharesMounts(fmt.Sprintf("/proc/%d", os.Getpid())) {
		t.Error("the namespaces are not those of this process and of its parent")
	}
	for range 3 {
		if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		var st unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_MNT_ID, &st); err != nil {
			t.Fatal(err)
		}
		if _, known := mountsFor(&Request{Path: dir}).own[st.Mnt_id]; !known {
			t.Errorf("the new mount %d is not known", st.Mnt_id)
		}
		if err := unix.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
		if _, known := mountsFor(&Request{Path: dir}).own[st.Mnt_id]; known {
			t.Errorf("the removed mount %d is still known", st.Mnt_id)
		}
	}
}

func BenchmarkMountsOfAProcess(b *testing.B) {
	r := &Request{Root: fmt.Sprintf("/proc/%d/root", os.Getpid()), Path: "/etc/passwd"}
	for b.Loop() {
		mountsFor(r)
	}
}
