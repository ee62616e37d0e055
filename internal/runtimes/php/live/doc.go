// SPDX-License-Identifier: Apache-2.0

// Package live tests package php against running PHP programs that record their own calls, with all installed
// releases. It has tests only.
package live
