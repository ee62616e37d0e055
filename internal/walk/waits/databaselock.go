// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"slices"
)

const whyDatabaseLock = "its owner is in PostgreSQL's view pg_locks"

// awaitsDatabaseLock reports whether a process of PostgreSQL waits for a lock of a row, a table or the like
// (src/backend/storage/lmgr/proc.c), by its latch (since 9.6).
func awaitsDatabaseLock(stack []StackFunction) bool {
	return slices.ContainsFunc(stack, func(f StackFunction) bool {
		return f.Function == "ProcSleep" && path.Base(f.Module) == "postgres"
	})
}
