// SPDX-License-Identifier: Apache-2.0

// Package printable makes untrusted strings safe to show: a target chooses names, paths and comments with escape
// sequences, which terminals obey, and marks of writing direction, which disguise text. All text for people passes
// through it.
package printable
