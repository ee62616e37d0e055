// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/internal/wire"

// cursor reads call frame information: numbers as all of DWARF has them, and what only this has. Reading beyond the
// end sets Bad, after which everything reads as zero; parsing code checks it once.
type cursor struct{ wire.Cursor }
