"""What tests share: waiting and stages."""
