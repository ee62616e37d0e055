// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestProcessesOfANetworkShareTheReadingOfItsTables(t *testing.T) {
	root := t.TempDir()
	write := func(pid int, inodes ...int) *OpenFiles {
		text := "  sl  local_address rem_address\n"
		for i, inode := range inodes {
			text += fmt.Sprintf("%4d: 0100007F:1F90 0100007F:%04X 01 00000000:00000000 00:00000000 00000000 0 0 %d 1\n",
				i, 0xC000+inode, inode)
		}
		dir := filepath.Join(root, fmt.Sprint(pid), "net")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tcp"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return &OpenFiles{root: root, pid: pid}
	}
	var p RemoteAddresses
	clock := int64(1e9)
	now := func() int64 { return clock }
	first, second := write(1, 7), write(2, 7, 8)
	expect := func(f *OpenFiles, link, want string) {
		t.Helper()
		if got := p.Of(f, link, now); got != want {
			t.Errorf("%s has peer %q, not %q", link, got, want)
		}
	}
	expect(first, "socket:[7]", "127.0.0.1:49159")
	expect(second, "socket:[7]", "127.0.0.1:49159")
	expect(second, "socket:[8]", "") // too soon after the last reading
	expect(second, "pipe:[7]", "")
	clock += peersEvery
	expect(second, "socket:[8]", "127.0.0.1:49160")
	clock += peersEvery
	expect(&OpenFiles{root: root, pid: 3}, "socket:[9]", "")
	expect(first, "socket:[8]", "127.0.0.1:49160")
}
