// SPDX-License-Identifier: Apache-2.0

package stranger

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Trust says whose files may give names to a process's frames: root's, those of who runs prywalk, and those
// of the users named here. A file that others can write to is nobody's.
type Trust struct {
	// UIDs are users, as this process's user namespace numbers them.
	UIDs []uint32
	// GIDs are groups whose members may write to such a file: with a umask of 002, a user's files can be
	// written by a group of its own.
	GIDs []uint32
}

func (t *Trust) check(st *unix.Stat_t) error {
	if t == nil {
		return nil
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() && !slices.Contains(t.UIDs, st.Uid) {
		return ErrNotTrusted
	}
	if st.Mode&unix.S_IWOTH != 0 || st.Mode&unix.S_IWGRP != 0 && st.Gid != 0 && !slices.Contains(t.GIDs, st.Gid) {
		return ErrNotTrusted
	}
	return nil
}
