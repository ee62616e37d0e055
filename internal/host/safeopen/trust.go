// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Trust is the set of users whose files may name a process's frames: root, prywalk's user, and those listed. A file
// that others can write to is untrusted.
type Trust struct {
	UIDs []uint32 // in this process's user namespace
	// GIDs may have write permission: with umask 002 the user's own group has it.
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
