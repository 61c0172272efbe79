if __name__ == "__main__":
    test("cuda" if torch.cuda.is_available() else "cpu")
    print("ok")
