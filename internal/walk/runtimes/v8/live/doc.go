// SPDX-License-Identifier: Apache-2.0

// Package live tests package v8 on programs of every installed release of Node.
package live
