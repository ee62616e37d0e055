// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/internal/wire"

// cursor reads call frame information. Reading beyond the end sets Bad, and gives zeros from then on.
type cursor struct{ wire.Cursor }
