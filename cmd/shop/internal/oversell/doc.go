// Package oversell sells one product to many concurrent buyers through each of the usual ways to
// guard its stock, so that they can be compared.
//
// Each way is a [Strategy] in a file of its own, made to be read and copied. None, Mutex and SetNX
// oversell, and are here to show how that happens. The product is on a shelf: [RedisShelf] or
// [SQLShelf].
package oversell
