// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/internal/base/wire"

// cursor reads call frame information. A read beyond the end sets Bad; from then on all give zero.
type cursor struct{ wire.Cursor }
