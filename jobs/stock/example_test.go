package stock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// Two items, three buyers; the second buyer's reply was lost, and it asks again.
func Example() {
	server := miniredis.NewMiniRedis() // in place of a real one
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	ctx := context.Background()
	sale, err := stock.NewSale(client, stock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := sale.SetOffer(ctx, "tea", stock.Offer{Price: 350, Currency: "EUR"}); err != nil {
		fmt.Println(err)
		return
	}
	tea, err := sale.Put(ctx, "tea", 2)
	fmt.Println(tea.Stock, tea.Reserved, tea.Sold, tea.Price, tea.Currency, err)
	for _, id := range []string{"o-1", "o-2", "o-2", "o-3"} {
		order, fresh, err := sale.Reserve(ctx, stock.Order{
			ID: id, Receiver: "Ada Lovelace, London",
			Items: []stock.Item{{SKU: "tea", Quantity: 1}},
		})
		if errors.Is(err, stock.ErrSoldOut) {
			fmt.Println(err)
			continue
		}
		fmt.Println(order, fresh, err)
	}
	fmt.Println(pay(ctx, sale, "o-1"))
	fmt.Println(sale.Cancel(ctx, "o-2"))
	tea, err = sale.Product(ctx, "tea")
	fmt.Println(tea.Stock, tea.Reserved, tea.Sold, err)
	// Output:
	// 2 0 0 350 EUR <nil>
	// order "o-1" of 1 items for A***, reserved true <nil>
	// order "o-2" of 1 items for A***, reserved true <nil>
	// order "o-2" of 1 items for A***, reserved false <nil>
	// stock: reserve "o-3": sold out: 0 of "tea" left
	// order "o-1" of 1 items for A***, paid <nil>
	// order "o-2" of 1 items for A***, cancelled <nil>
	// 1 0 1 <nil>
}
